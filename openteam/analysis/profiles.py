"""Performance profiles: for every score, how large a part of an algorithm's runs exceeds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from openteam.analysis.statistics import bootstrap_samples


@dataclass(frozen=True)
class Profile:
    """The part of runs above each threshold, and its 95 % interval there."""

    thresholds: Float[np.ndarray, "thresholds"]
    above: Float[np.ndarray, "thresholds"]
    low: Float[np.ndarray, "thresholds"]
    high: Float[np.ndarray, "thresholds"]


def performance_profile(
    scores: Sequence[Float[np.ndarray, "_"]],
    thresholds: Float[np.ndarray, "thresholds"],
    *,
    samples: int = 2000,
    seed: int = 0,
) -> Profile:
    """Of an algorithm that has its seeds' scores on each of some tasks, which count equally (Agarwal et al., 2021).

    The interval is pointwise, of a bootstrap that draws seeds within tasks.
    """
    redrawn = bootstrap_samples(scores, samples, seed)
    values = np.array([part_above(sample, thresholds) for sample in redrawn])
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    return Profile(thresholds, part_above(scores, thresholds), low, high)


def part_above(
    scores: Sequence[Float[np.ndarray, "_"]], thresholds: Float[np.ndarray, "thresholds"]
) -> Float[np.ndarray, "thresholds"]:
    """The mean over tasks of the part of their runs that score more."""
    return np.mean([(task[:, None] > thresholds).mean(0) for task in scores], axis=0)
