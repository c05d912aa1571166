"""Shots as tables: what was done, what utilities say, what happens over training."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from openteam.analysis.compare import millions
from openteam.analysis.series import Row
from openteam.analysis.shot_rows import PAPERS_CORRELATION, correlations, rises
from openteam.analysis.shots import METRICS
from openteam.analysis.statistics import mean_interval
from openteam.commands.sheets import Sheet, figure, seed_count
from openteam.errors import UserError

DONE = ("return", "accuracy", "shots", "chances", "value_1", "value_2")
WORTH = (
    "scenario_1", "scenario_2", "scenario_3", "scenario_4", "own_gain_1", "own_gain_2", "mates_gain_1", "mates_gain_2",
)  # fmt: skip
LABELS = {"task": str, "algorithm": str, "seed": int, "step": int, "episodes": int}
HEADS = {"value_1": "V(S1)", "value_2": "V(S2)"} | {f"scenario_{number}": f"S{number}" for number in (1, 2, 3, 4)}


def sheets_of(rows: Sequence[Row]) -> list[Sheet]:
    """Per task: shooting and values, utilities of shots, and what there is to say over training."""
    sheets = []
    for task in dict.fromkeys(row["task"] for row in rows):
        ours = [row for row in rows if row["task"] == task]
        joint = [row for row in ours if "scenario_1" in row]
        sheets.append(last_sheet(f"{task}: shooting, and values of states", ours, DONE))
        sheets += [last_sheet(f"{task}: what a shot is worth", joint, WORTH)] if joint else []
        sheets += training_sheets(task, joint)
    return sheets


def last_sheet(title: str, rows: Sequence[Row], metrics: Sequence[str]) -> Sheet:
    """Each algorithm's last stored checkpoint: mean over seeds and half its interval."""
    last = {(row["algorithm"], row["seed"]): row for row in rows}
    lines = []
    for name in dict.fromkeys(row["algorithm"] for row in rows):
        ours = [row for (algorithm, _), row in last.items() if algorithm == name]
        figures = [over_seeds([row[metric] for row in ours if metric in row]) for metric in metrics]
        lines.append([name, seed_count(len(ours)), millions(ours[0]["step"]), *figures])
    head = ["algorithm", "seeds", "step", *(HEADS.get(metric, metric.replace("_", " ")) for metric in metrics)]
    caption = " ".join(f"{HEADS.get(metric, metric.replace('_', ' '))}: {METRICS[metric]}." for metric in metrics)
    episodes = " or ".join(str(number) for number in sorted({row["episodes"] for row in rows}))
    return Sheet(
        title, head, lines, f"Mean over seeds, ± half its 95 % interval; {episodes} episodes a seed. {caption}"
    )


def training_sheets(task: str, rows: Sequence[Row]) -> list[Sheet]:
    """How scenario 1 goes with returns over checkpoints; nothing where too few were stored."""
    lines = []
    for name in dict.fromkeys(row["algorithm"] for row in rows):
        ours = [row for row in rows if row["algorithm"] == name]
        found = correlations(ours)
        if len(found):
            checkpoints = len({row["step"] for row in ours})
            when = "; ".join(f"{step_word(gap)}, {step_word(shoots)}" for gap, shoots in rises(ours)) or "-"
            lines.append([name, seed_count(len(found)), str(checkpoints), over_seeds(list(found)), when])
    if not lines:
        return []
    caption = (
        "Pearson correlation of S1 with the return over a run's checkpoints (the paper: "
        f"{PAPERS_CORRELATION}, one run); and for each seed the steps after which first S1 - S2, then the learner's "
        "accuracy stays above the middle between its first and its highest value."
    )
    head = ["algorithm", "seeds", "checkpoints", "correlation", "S1 - S2 and accuracy half way at"]
    return [Sheet(f"{task}: over training", head, lines, caption)]


def over_seeds(values: Sequence[float]) -> str:
    """``0.29 ± 0.17``, the interval by Student's t, which one seed does not have; a dash where there is nothing."""
    if not values:
        return "-"
    mean, half = mean_interval(np.array(values, float))
    return figure(float(mean), float(half))


def step_word(step: int | None) -> str:
    """``0.4M``."""
    return "never" if step is None else millions(step)


def as_csv(rows: Sequence[Row]) -> str:
    """Numbers in full; what a policy does not say is empty."""
    file = io.StringIO()
    table = csv.DictWriter(file, (*LABELS, *METRICS), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()


def from_csv(path: Path) -> list[Row]:
    """The rows of such a table."""
    try:
        table = csv.DictReader(path.read_text(encoding="utf-8").splitlines(), strict=True)
        if tuple(table.fieldnames or ()) != (*LABELS, *METRICS):
            raise ValueError("it has other columns")
        return [{name: LABELS.get(name, float)(text) for name, text in line.items() if text != ""} for line in table]
    except FileNotFoundError:
        raise UserError(f"There is no table at {path}.") from None
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise UserError(f"{path} is no table that openteam shots wrote with --csv: {error}.") from None
