"""The same number of steps, or the same hours: what algorithms of different speed have learned by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Float

from openteam.analysis.compare import Comparison, Group, Reading
from openteam.errors import UserError
from openteam.storage.run_folder import RunFolder


@dataclass(frozen=True)
class Clock:
    """The hours of training that a run had behind it at each of its checkpoints, evaluations not counted."""

    steps: tuple[int, ...]
    hours: tuple[float, ...]
    processor: str

    def last_within(self, hours: float) -> int:
        """The last checkpoint that was reached by then."""
        return [step for step, spent in zip(self.steps, self.hours, strict=True) if spent <= hours][-1]


@dataclass(frozen=True)
class Timed:
    """An algorithm on a split: its seeds' returns at the same steps as the others', and after the same hours."""

    split: str
    group: Group
    step: int
    at_step: Float[np.ndarray, "seeds"]
    reached: tuple[int, ...]
    """Each seed's steps within the hours."""
    at_hours: Float[np.ndarray, "seeds"]
    clocks: tuple[Clock, ...]


def time_task(comparison: Comparison, task: str, hours: float) -> list[Timed]:
    """All algorithms of a task: at the steps that all of them have trained for, and after that many hours."""
    groups = comparison.tasks[task]
    clocks = {group.shown: tuple(clock_of(run) for run in group.runs) for group in groups}
    common = min(group.checkpoints[-1] for group in groups)
    return [
        timed(group, split, nearest(group.checkpoints, common), hours, clocks[group.shown])
        for split in comparison.splits(task)
        for group in groups
        if split in group.splits
    ]


def timed(group: Group, split: str, step: int, hours: float, clocks: tuple[Clock, ...]) -> Timed:
    """One algorithm on one split."""
    reached = tuple(clock.last_within(hours) for clock in clocks)
    returns = [run.returns[split] for run in group.runs]
    at_hours = np.array([one[last] for one, last in zip(returns, reached, strict=True)])
    return Timed(split, group, step, np.array([one[step] for one in returns]), reached, at_hours, clocks)


def nearest(steps: Sequence[int], step: int) -> int:
    """Learners with another chunk have their checkpoints a few steps earlier or later."""
    return min(steps, key=lambda one: abs(one - step))


def clock_of(run: Reading) -> Clock:
    """From the seconds of every stretch of training."""
    folder = RunFolder.open(run.path)
    rows = folder.rows_of_checkpoints("train.jsonl")
    try:
        spent = dict(zip((row["step"] for row in rows), accumulate(row["seconds"] for row in rows), strict=True))
        steps = tuple(sorted(run.returns["train"]))
        hours = tuple((spent[step] if step else 0.0) / 3600 for step in steps)
        return Clock(steps, hours, str(folder.about.get("machine", {}).get("cpu", "unknown")))
    except (KeyError, TypeError):
        raise UserError(f"{run.path} does not say how long its training took: its train.jsonl lacks rows.") from None
