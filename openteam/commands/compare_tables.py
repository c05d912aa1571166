"""Further tables of a comparison: against one algorithm, and after the same steps or hours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from openteam.analysis.against import Against, compare_against, over_tasks
from openteam.analysis.compare import At, Comparison, millions
from openteam.analysis.paired import Improvement
from openteam.analysis.statistics import mean_interval
from openteam.analysis.wall_clock import Clock, Timed, time_task
from openteam.commands.sheets import Sheet, figure, seed_count


def against_sheets(comparison: Comparison, name: str, at: At) -> list[Sheet]:
    """A table per task that has this algorithm; one over tasks if others met it on several."""
    found = compare_against(comparison, name, at)
    tasks = dict.fromkeys(one.task for one in found)
    sheets = [against_sheet(task, [one for one in found if one.task == task]) for task in tasks]
    rows = [[one.split, one.algorithm, f"{one.tasks}", chance(one.improvement)] for one in over_tasks(found, at)]
    if rows:
        caption = (
            f"The probability that a run of the algorithm scores more than a run of {name}, the mean over tasks; in "
            "brackets its 95 % interval (bootstrap, stratified by task)."
        )
        head = ["split", "algorithm", "tasks", "P(improvement)"]
        sheets.append(Sheet(f"All tasks, against {name}", head, rows, caption))
    return sheets


def against_sheet(task: str, found: Sequence[Against]) -> Sheet:
    """A row per split and algorithm."""
    rows = [
        [
            one.split,
            one.group.shown,
            *difference(one),
            chance(one.improvement),
            "same" if one.same_episodes else "other",
        ]
        for one in found
    ]
    caption = (
        "Difference: mean return less the reference's over pairs of runs with the same seed, ± half its 95 % interval "
        "(Student's t), which one pair does not have. Effect size: Hedges' g of these differences, from three pairs "
        "on. P(improvement): the probability that a run scores more than one of the reference, in brackets its 95 % "
        "interval (bootstrap over seeds), from three seeds on; it is too narrow with few seeds, and has no width where "
        "all runs of one are above all of the other. Episodes: whether both runs of a pair were evaluated on the same."
    )
    head = ["split", "algorithm", "difference", "effect size", "pairs", "P(improvement)", "episodes"]
    return Sheet(f"{task}, against {found[0].reference.shown}", head, rows, caption)


def difference(one: Against) -> list[str]:
    """Difference, effect size and pairs as words."""
    if one.difference is None:
        return ["-", "-", "none"]
    effect = "-" if math.isnan(one.difference.effect) else f"{one.difference.effect:+.2f}"
    mean = figure(one.difference.mean, one.difference.half)
    return [mean if one.difference.mean < 0 else f"+{mean}", effect, seed_count(one.difference.pairs)]


def chance(improvement: Improvement) -> str:
    """``0.67 (0.33 to 1.00)``; without the interval where there is none."""
    if math.isnan(improvement.low):
        return f"{improvement.probability:.2f}"
    return f"{improvement.probability:.2f} ({improvement.low:.2f} to {improvement.high:.2f})"


def hours_sheets(comparison: Comparison, hours: float) -> list[Sheet]:
    """A table per task: after the same steps, and beside it after the same hours of training."""
    return [hours_sheet(task, time_task(comparison, task, hours), hours) for task in comparison.tasks]


def hours_sheet(task: str, found: Sequence[Timed], hours: float) -> Sheet:
    """A row per split and algorithm; processors are named if they differ."""
    rows = [
        [one.split, one.group.shown, *(figure(*map(float, mean_interval(at))) for at in (one.at_step, one.at_hours)),
         reached(one), length(one.clocks), seed_count(len(one.clocks))]
        for one in found
    ]  # fmt: skip
    processors = sorted({clock.processor for one in found for clock in one.clocks})
    caption = (
        "Mean return of the frozen policy, ± half the 95 % interval over seeds. Hours are of training alone, without "
        "compiling and evaluations; a run that took less stands with its end, and its hours say so."
    )
    if len(processors) > 1:
        caption += f" The runs are of different processors, whose hours do not compare: {'; '.join(processors)}."
    step = min(one.step for one in found)
    head = [
        "split",
        "algorithm",
        f"at {millions(step)} steps",
        f"after {hours:g} h",
        "steps by then",
        "hours in all",
        "seeds",
    ]
    return Sheet(f"{task}: same steps, same hours", head, rows, caption)


def reached(one: Timed) -> str:
    """``1.2M``, or from the slowest to the fastest seed."""
    low, high = millions(min(one.reached)), millions(max(one.reached))
    return low if low == high else f"{low} to {high}"


def length(clocks: Sequence[Clock]) -> str:
    """The hours of whole runs, the mean over seeds."""
    return f"{sum(clock.hours[-1] for clock in clocks) / len(clocks):.2f}"
