"""The paper's own tables and learning curves, to be put beside ours."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np


def tables() -> list[dict[str, Any]]:
    """The paper's tables: name, split, tasks, steps, and for each algorithm the values by task."""
    return _paper()["tables"]


def published(task: str, algorithm: str, split: str) -> tuple[float, float] | None:
    """The paper's mean and half its 95 % interval, if it has them for this algorithm, task and split.

    A task's two fidelities both compare to the paper's one, but for FortAttack, whose text and code have rewards of
    different size; the paper's figures are on the code's scale.
    """
    values, algorithm = _values(), row_of(algorithm)
    return values.get((task, algorithm, split)) or values.get((task.removesuffix("-released"), algorithm, split))


def published_curve(task: str, algorithm: str, split: str) -> list[tuple[float, float]]:
    """Steps and mean return of the learning curve published with the paper's code, at a few points; empty if none."""
    curves = _paper()["curves"]
    found = curves["tasks"].get(task) or curves["tasks"].get(task.removesuffix("-released"))
    if found is None or split != curves["split"]:
        return []
    means = found["values"].get(row_of(algorithm), [None] * len(curves["parts"]))
    points = zip(curves["parts"], means, strict=True)
    return [(part * found["steps"], mean) for part, mean in points if mean is not None]


def published_exploration_steps(task: str) -> int | None:
    """After how many steps the exploration of the published curves' runs reaches its last value; None if unknown."""
    tasks = _paper()["curves"]["tasks"]
    found = tasks.get(task) or tasks.get(task.removesuffix("-released"))
    return found["exploration_steps"] if found else None


def published_at(task: str, algorithm: str, split: str, steps: Sequence[int]) -> float | None:
    """The published curve's mean over these steps, straight between its points; None where it does not reach."""
    curve = published_curve(task, algorithm, split)
    if not curve or min(steps) < curve[0][0] or max(steps) > curve[-1][0]:
        return None
    places, means = zip(*curve, strict=True)
    return float(np.interp(steps, places, means).mean())


def row_of(algorithm: str) -> str:
    """The paper's row that a preset belongs beside: of ``ql-flat`` and ``ql-released`` it is ``ql``."""
    variants = {"gpl-q-factored": "gpl-q", "ql-flat": "ql", "maddpg-separate": "maddpg"}
    return variants.get(algorithm, algorithm.removesuffix("-released"))


def published_steps(task: str) -> int | None:
    """How long the paper trained on this task; None if it did not."""
    lengths = {
        name: steps for table in _paper()["tables"] for name, steps in zip(table["tasks"], table["steps"], strict=True)
    }
    return lengths.get(task) or lengths.get(task.removesuffix("-released"))


@functools.cache
def _paper() -> dict[str, Any]:
    return json.loads(files("openteam.analysis").joinpath("paper.json").read_text())


@functools.cache
def _values() -> dict[tuple[str, str, str], tuple[float, float]]:
    return {
        (task, algorithm, table["split"]): (mean, half)
        for table in _paper()["tables"]
        for algorithm, row in table["values"].items()
        for task, (mean, half) in zip(table["tasks"], row, strict=True)
    }
