"""Learning curves of a comparison: a picture per task, a panel per split, a line per algorithm with its name."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from openteam.analysis.compare import Comparison, Group, millions
from openteam.analysis.exploration import caveat
from openteam.analysis.paper import published, published_curve, published_exploration_steps, published_steps
from openteam.analysis.statistics import mean_interval
from openteam.drawing.figures import COLOURS, check_picture, save_picture

DASHES = ("-", "--", ":", "-.")
TABLE: dict[str, Any] = {"fmt": "D", "markersize": 4.5, "capsize": 2, "elinewidth": 1}
CURVE: dict[str, Any] = {"ls": ":", "lw": 1, "marker": "o", "ms": 4, "mfc": "white"}
LETTERS = 9  # size of the font of all names and notes
NAME_WIDTH = 21  # characters of a name on one line
LINE = 0.165  # inches from one line of a name to the next
AROUND = 1.3  # inches of a row that are not its panels' height
NAMES = 0.62  # room for names right of the curves, as a part of the curves' width
FAR = NAMES + 0.06  # where values of longer training stand, as a part of the curves' width
ASIDE = 0.02  # from one of the paper's values to the next, as a part of the curves' width
BANDS = 5  # lines with bands in one panel, at most: more of them hide each other
COMPARABLE = 1 / 3  # runs share a row of panels if the shorter have at least this part of the longest's steps


def draw_comparison(path: Path, comparison: Comparison) -> list[Path]:
    """Draw every task, and return the files: ``path`` itself, or with the task's name in it if there are several."""
    check_picture(path)
    written = []
    for task, groups in comparison.tasks.items():
        name = f"{path.stem}-{file_name(task)}{path.suffix}" if len(comparison.tasks) > 1 else path.name
        save_picture(draw_task(task, groups, comparison.splits(task)), path.with_name(name))
        written.append(path.with_name(name))
    return written


def file_name(task: str) -> str:
    """A task's label in letters that every file system takes: ``lbf-released-pool.families-Foragers``."""
    return re.sub(r"[^\w.]+", "-", task).strip("-")


def draw_task(task: str, groups: Sequence[Group], splits: Sequence[str]) -> Any:
    """One task: a row of panels for runs of comparable length, all with the same colours.

    Means over seeds with their 95 % intervals, which may leave the panel, or two seeds as they are. Diamonds are the
    paper's tables, dotted lines with circles the curves published with its code.
    """
    from matplotlib.figure import Figure

    rows = by_length(groups)
    styles = styles_of(rows)
    heights = [max(3.4, AROUND + LINE * sum(map(count_lines, row))) for row in rows]
    figure = Figure(figsize=(4.8 * len(splits), sum(heights) + 0.5), layout="constrained")
    panels = figure.subplots(len(rows), len(splits), squeeze=False, height_ratios=heights)
    for line, row, height in zip(panels, rows, heights, strict=True):
        for panel, split in zip(line, splits, strict=True):
            draw_panel(panel, [group for group in row if split in group.splits], split, styles, height - AROUND)
        line[0].set_ylabel("mean return")
    for panel in panels[-1]:
        panel.set_xlabel("million steps")
    figure.suptitle(textwrap.fill(task, 55 * len(splits)), fontsize=12)
    if note := footnote(groups, splits):
        figure.supxlabel(textwrap.fill(note, 70 * len(splits)), fontsize=LETTERS, color="#555555")
    return figure


def by_length(groups: Sequence[Group]) -> list[list[Group]]:
    """The shortest first; all of one list at least ``COMPARABLE`` as long as its longest."""
    rows: list[list[Group]] = []
    for steps in sorted({group.steps for group in groups}, reverse=True):
        same = [group for group in groups if group.steps == steps]
        if rows and steps >= COMPARABLE * rows[-1][0].steps:
            rows[-1] += same
        else:
            rows.append(same)
    return rows[::-1]


def styles_of(rows: Sequence[Sequence[Group]]) -> dict[str, tuple[str, str]]:
    """A colour per algorithm, the same in all rows, and another dash for each one of a row that has the same colour."""
    names = list(dict.fromkeys(group.algorithm.name for row in rows for group in row))
    styles: dict[str, tuple[str, str]] = {}
    for row in rows:
        colours = [COLOURS[names.index(group.algorithm.name) % len(COLOURS)] for group in row]
        for number, (group, colour) in enumerate(zip(row, colours, strict=True)):
            styles[group.shown] = colour, DASHES[colours[:number].count(colour) % len(DASHES)]
    return styles


def draw_panel(
    panel: Any, groups: Sequence[Group], split: str, styles: dict[str, tuple[str, str]], inches: float
) -> None:
    """One split, in a panel of this height."""
    panel.set_title(split, fontsize=10)
    if not groups:
        panel.set_axis_off()
        return
    right = max(group.checkpoints[-1] for group in groups) / 1e6 or 1.0
    ends, bands = [], []
    for group in groups:
        colour, dash = styles[group.shown]
        steps = np.array(group.checkpoints) / 1e6
        mean, half = mean_interval(group.curves(split))
        panel.plot(steps, mean, dash, color=colour, linewidth=1.6)
        if len(group.runs) == 2:  # the interval of two is so wide that it says less than the two
            panel.plot(steps, group.curves(split).T, dash, color=colour, linewidth=0.6, alpha=0.45)
        elif len(group.runs) > 2 and len(groups) <= BANDS:
            bands.append((steps, mean - half, mean + half, colour))
        ends.append((float(steps[-1]), float(mean[-1]), group.shown, colour))
    names_from, beyond = draw_published(panel, groups, split, styles, right)
    panel.set_ylim(panel.get_ylim())  # lines decide: a few wide bands would press them flat
    for steps, low, high, colour in bands:
        panel.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
    panel.grid(alpha=0.25)
    mark_steps(panel, right, names_from, beyond)
    write_names(panel, ends, names_from, inches)


def draw_published(
    panel: Any, groups: Sequence[Group], split: str, styles: dict[str, tuple[str, str]], right: float
) -> tuple[float, float | None]:
    """The paper's values at their own number of steps.

    Returns where names may begin, and that number, in millions, if it lies beyond our curves.
    """
    steps = (published_steps(groups[0].task.name) or 0) / 1e6
    beyond = steps > 1.01 * right
    place = (1 + FAR) * right if beyond else steps
    drawn: set[str] = set()
    for group in groups:
        name = (group.task.name, group.algorithm.name, split)
        points, table = published_curve(*name), published(*name)
        if group.algorithm.name in drawn or not (points or table):
            continue
        colour, aside = styles[group.shown][0], ASIDE * right * len(drawn)
        if table:
            panel.errorbar(place + aside, *table, color=colour, **TABLE)
        if points:
            within = [(step / 1e6, mean) for step, mean in points if step <= 1.01e6 * right]
            panel.plot([step for step, _ in within], [mean for _, mean in within], color=colour, **CURVE)
            if beyond:
                panel.plot(place + aside, points[-1][1], color=colour, **CURVE)
        drawn.add(group.algorithm.name)
    if beyond or not drawn or place < right:
        return 1.06 * right, steps if beyond and drawn else None
    return place + right * (0.06 + ASIDE * len(drawn)), None


def mark_steps(panel: Any, right: float, names_from: float, beyond: float | None) -> None:
    """Ticks of our steps, and after a gap one for values of longer training."""
    from matplotlib.ticker import MaxNLocator

    ticks = [tick for tick in MaxNLocator(4, steps=[1, 2, 4, 5, 10]).tick_values(0, right) if 0 <= tick <= 1.01 * right]
    labels = [f"{tick:g}" for tick in ticks]
    if beyond is None:
        panel.set_xlim(-0.03 * right, names_from + (NAMES - 0.06) * right)
        panel.set_xticks(ticks, labels)
        return
    panel.set_xlim(-0.03 * right, (1 + FAR + 0.2) * right)
    panel.set_xticks([*ticks, (1 + FAR + 0.07) * right], [*labels, f"{beyond:g}"])
    panel.axvspan((1 + FAR - 0.04) * right, panel.get_xlim()[1], color="#f3f1ea", zorder=0)
    panel.annotate("…", ((1 + FAR / 2) * right, 0), (0, -5), xycoords=("data", "axes fraction"),
                   textcoords="offset points", ha="center", va="top", fontsize=10)  # fmt: skip


def write_names(panel: Any, ends: Sequence[tuple[float, float, str, str]], names_from: float, inches: float) -> None:
    """A name beside the end of every line, in its colour, moved up or down where names would overlap."""
    low, high = panel.get_ylim()
    ordered = sorted(ends, key=lambda end: end[1])
    texts = [textwrap.fill(name, NAME_WIDTH) for _, _, name, _ in ordered]
    heights = [len(text.splitlines()) * LINE / inches for text in texts]
    places = spread([(mean - low) / (high - low) for _, mean, _, _ in ordered], heights)
    for (step, mean, _, colour), text, place in zip(ordered, texts, places, strict=True):
        panel.annotate(
            text, (step, mean), (names_from, low + place * (high - low)), color=colour, fontsize=LETTERS, va="center",
            linespacing=0.95, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "alpha": 0.7, "shrinkA": 0, "shrinkB": 1,
                        "relpos": (0, 0.5)},
        )  # fmt: skip


def spread(places: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Rising places from 0 to 1, each as near as it can be where labels of these heights do not overlap.

    Labels that touch form a block, which stands where its members would be on average; blocks that touch are joined.
    """
    blocks: list[tuple[float, float, int]] = []  # middle, height, number of labels
    for place, height in zip(places, heights, strict=True):
        block = within((place, height, 1))
        while blocks and block[0] - block[1] / 2 < blocks[-1][0] + blocks[-1][1] / 2:
            other = blocks.pop()
            count = block[2] + other[2]
            block = within(((block[0] * block[2] + other[0] * other[2]) / count, block[1] + other[1], count))
        blocks.append(block)
    moved: list[float] = []
    for middle, height, count in blocks:
        edge = middle - height / 2
        for own in heights[len(moved) : len(moved) + count]:
            moved.append(edge + own / 2)
            edge += own
    return moved


def within(block: tuple[float, float, int]) -> tuple[float, float, int]:
    """A block of labels, moved between 0 and 1 if it fits there."""
    middle, height, count = block
    return min(max(middle, height / 2), max(1 - height / 2, height / 2)), height, count


def count_lines(group: Group) -> int:
    """Lines that a group's name takes."""
    return len(textwrap.wrap(group.shown, NAME_WIDTH))


def footnote(groups: Sequence[Group], splits: Sequence[str]) -> str:
    """What the marks mean, as far as there are any."""
    names = [(group.task.name, group.algorithm.name, split) for group in groups for split in splits]
    seeds = {len(group.runs) for group in groups}
    drawn = any(len(row) <= BANDS and len(group.runs) > 2 for row in by_length(groups) for group in row)
    parts = ["bands: 95 % intervals over seeds"] if drawn else []
    parts += ["thin lines: single seeds"] if 2 in seeds else []
    parts += ["diamonds: the paper's tables, 8 seeds"] if any(published(*name) for name in names) else []
    parts += [circles(groups)] if any(published_curve(*name) for name in names) else []
    return "; ".join(parts)


def circles(groups: Sequence[Group]) -> str:
    """What the published curves are, and until when their runs explored if ours did not do so as long."""
    what, until = "circles: curves published with its code", published_exploration_steps(groups[0].task.name)
    if until is None or not any(caveat(group, group.checkpoints) for group in groups):
        return what
    return f"{what}, exploring until {millions(until)} steps"
