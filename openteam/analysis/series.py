"""Rows of measurements, one per run and checkpoint, and the curves that they make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from openteam.analysis.compare import Group, Reading

Row = dict[str, Any]


def row_label(group: Group, run: Reading) -> Row:
    """What a row is about."""
    return {"task": str(group.task), "algorithm": group.shown, "seed": run.config["seed"]}


def series(
    rows: Iterable[Row], metric: str
) -> tuple[Int[np.ndarray, "checkpoints"], Float[np.ndarray, "seeds checkpoints"]]:
    """The checkpoints that all seeds of these rows have, and each seed's values there; rows without it do not count."""
    seeds: dict[int, dict[int, float]] = {}
    for row in rows:
        if metric in row:
            seeds.setdefault(row["seed"], {})[row["step"]] = row[metric]
    steps = sorted(set.intersection(*map(set, seeds.values()))) if seeds else []
    values = [[seeds[seed][step] for step in steps] for seed in sorted(seeds)]
    return np.array(steps, int), np.array(values, float).reshape(len(seeds), len(steps))
