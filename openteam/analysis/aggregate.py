"""The paper's figure "Aggregated performance": an algorithm in one world over team sizes and seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from openteam.analysis.compare import Group
from openteam.analysis.evidence import Evidence
from openteam.analysis.statistics import bootstrap_interval, interquartile_mean
from openteam.analysis.targets import Target

SIZES = ("train", "larger")  # teams of up to 3 and of up to 5


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """The interquartile mean of the last checkpoint's returns over team sizes and seeds, with its 95 % interval."""

    task: str
    row: str
    group: Group
    middle: float
    low: float
    high: float

    @property
    def scores(self) -> int:
        return len(SIZES) * len(self.group.runs)


def aggregates(target: Target, evidence: Evidence) -> Iterator[Aggregate]:
    """Of every row that has been trained; the bootstrap draws seeds within each team size."""
    for (task, row), group in evidence.places(target).items():
        if all(split in group.splits for split in SIZES):
            scores = [group.scores(split, "last") for split in SIZES]
            low, high = bootstrap_interval(scores)
            middle = interquartile_mean(np.concatenate(scores))
            yield Aggregate(task, row, group, middle, low, high)
