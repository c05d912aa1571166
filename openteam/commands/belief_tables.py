"""How well beliefs match the truth, as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from statistics import mean
from typing import Any

from rich.table import Table

from openteam.rollout.belief_scores import METRICS, WEIGHT_METRICS


def tables(rows: list[dict[str, Any]]) -> Iterator[Table]:
    """Per task: the last checkpoint of every algorithm, mean over seeds; then what weights are worth, if any."""
    for task in dict.fromkeys(row["task"] for row in rows):
        last = [*{(row["algorithm"], row["seed"]): row for row in rows if row["task"] == task}.values()]
        yield table_of(f"What is believed at the last checkpoint on {task}, mean over seeds", last, METRICS)
        weighted = [row for row in last if any(name in row for name in WEIGHT_METRICS)]
        if weighted:
            yield table_of(
                f"What the weights of hypotheses are worth on {task}, mean over seeds", weighted, WEIGHT_METRICS
            )


def table_of(title: str, rows: list[dict[str, Any]], metrics: Iterable[str]) -> Table:
    """A row per algorithm, a column per metric that any of them has."""
    shown = [name for name in metrics if any(name in row for row in rows)]
    table = Table(title=title)
    for name in ("algorithm", "seeds", "step", *shown):
        table.add_column(name.replace("_", " "))
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        ours = [row for row in rows if row["algorithm"] == algorithm]
        numbers = (f"{mean(row[name] for row in ours):.3f}" if name in ours[0] else "-" for name in shown)
        table.add_row(algorithm, str(len(ours)), f"{ours[0]['step']:,}", *numbers)
    return table


def explanations(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What the metrics of the tables mean."""
    for name, what in (METRICS | WEIGHT_METRICS).items():
        if name in METRICS or any(name in row for row in rows):
            yield f"{name.replace('_', ' ')}: {what}"


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Numbers in full; what a belief does not say is empty."""
    file = io.StringIO()
    table = csv.DictWriter(file, ("task", "algorithm", "seed", "step", *METRICS, *WEIGHT_METRICS), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()
