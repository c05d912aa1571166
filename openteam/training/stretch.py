"""A stretch of training: what is computed between two rows of metrics."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from openteam.training.host_program import HostProgram
from openteam.training.loop import Carry
from openteam.training.program import Program

AnyProgram = Program | HostProgram


@dataclasses.dataclass(frozen=True)
class Stretch:
    """What training up to the next row gave."""

    updates: int
    """Of the whole run, at its end."""
    count: int
    """Of these, its own."""
    seconds: float
    sums: dict[str, np.ndarray]
    """Of metrics over its updates, ``[seeds]``."""
    reached: np.ndarray
    """The update that each seed came to, ``[seeds]``: an earlier one where a number stopped being finite."""

    def not_finite(self, number: int) -> list[str]:
        """The metrics of one seed that are not finite."""
        return [name for name, value in self.sums.items() if not np.isfinite(value[number])]

    def metrics(self, number: int) -> dict[str, float | None]:
        """Those of one seed: means per update, and the mean return of the episodes that ended."""
        sums = {name: float(value[number]) for name, value in self.sums.items()}
        means: dict[str, float | None] = {name: value / self.count for name, value in sums.items()}
        counted = {name: sums[name] for name in ("episodes", "environment_seconds") if name in sums}
        episodes, total = counted["episodes"], sums["return_sum"]
        del means["return_sum"]
        return means | counted | {"return": total / episodes if episodes else None}


def train(program: AnyProgram, carry: Carry, updates: int) -> tuple[Carry, Stretch]:
    """Train until the next row is due."""
    count = program.spec.next_row(updates) - updates
    began = time.perf_counter()
    carry, sums = program.advance(carry, count)
    seconds = time.perf_counter() - began
    return carry, Stretch(updates + count, count, seconds, sums, np.atleast_1d(np.asarray(carry.train.updates)))
