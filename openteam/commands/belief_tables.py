"""How well beliefs match the truth, as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from statistics import mean
from typing import Any

from rich.table import Table

from openteam.rollout.belief_scores import METRICS


def tables(rows: list[dict[str, Any]]) -> Iterator[Table]:
    """One per task: of every algorithm the last checkpoint, the mean over seeds."""
    for task in dict.fromkeys(row["task"] for row in rows):
        last = {(row["algorithm"], row["seed"]): row for row in rows if row["task"] == task}.values()
        table = Table(title=f"What is believed at the last checkpoint on {task}, mean over seeds")
        for name in ("algorithm", "seeds", "step", *METRICS):
            table.add_column(name.replace("_", " "))
        for algorithm in dict.fromkeys(row["algorithm"] for row in last):
            ours = [row for row in last if row["algorithm"] == algorithm]
            numbers = (f"{mean(row[metric] for row in ours):.3f}" if metric in ours[0] else "-" for metric in METRICS)
            table.add_row(algorithm, str(len(ours)), f"{ours[0]['step']:,}", *numbers)
        yield table


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Numbers in full; what a belief does not say is empty."""
    file = io.StringIO()
    table = csv.DictWriter(file, ("task", "algorithm", "seed", "step", *METRICS), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()
