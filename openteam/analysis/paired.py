"""Two algorithms, seed against seed: how far apart they are, how sure that is, and who wins how often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from openteam.analysis.statistics import bootstrap_samples, mean_interval, percentile_interval

FEWEST = 3  # seeds that can be drawn again with any meaning
Scores = Sequence[Float[np.ndarray, "_"]]
"""Of the seeds of each task."""


@dataclass(frozen=True)
class Difference:
    """One algorithm's scores less another's, over the seeds that both have."""

    mean: float
    half: float
    """Half the 95 % interval of the mean by Student's t; nan with one pair."""
    effect: float
    """Hedges' g of paired differences; nan below three pairs, or where they do not vary."""
    pairs: int


def paired_difference(ours: Float[np.ndarray, "seeds"], theirs: Float[np.ndarray, "seeds"]) -> Difference:
    """Of scores in the same order of seeds.

    g = J(n - 1) mean(d) / sd(d), with d the differences and J the factor that takes out the bias of small samples,
    J(m) = Γ(m / 2) / (sqrt(m / 2) Γ((m - 1) / 2)) (Hedges, 1981). It says how many standard deviations of a pair's
    difference the mean is away from none.
    """
    differences = ours - theirs
    mean, half = mean_interval(differences)
    pairs = len(differences)
    spread = differences.std(ddof=1) if pairs >= FEWEST else 0.0
    effect = small_sample_factor(pairs - 1) * float(mean) / spread if spread > 0 else math.nan
    return Difference(float(mean), float(half), float(effect), pairs)


def small_sample_factor(freedom: int) -> float:
    """Hedges' J: what makes the standardised mean of a small sample unbiased."""
    return float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / (freedom / 2) ** 0.5)


@dataclass(frozen=True)
class Improvement:
    """How probable it is that a run of one algorithm scores more than a run of another."""

    probability: float
    low: float
    high: float
    """Where its 95 % interval begins and ends; nan if a task has fewer than ``FEWEST`` seeds of either."""


def probability_of_improvement(ours: Scores, theirs: Scores, *, samples: int = 2000, seed: int = 0) -> Improvement:
    """P(X > Y) + P(X = Y) / 2, the mean over tasks, each of which has its seeds (Agarwal et al., 2021).

    On one task this is Mann and Whitney's U / (n m). The interval is of a bootstrap that draws seeds within tasks; with
    few seeds it is narrower than it should be, and it has no width where all of one are above all of the other.
    """
    value = float(np.mean([win_rate(one, other) for one, other in zip(ours, theirs, strict=True)]))
    if min(len(task) for task in (*ours, *theirs)) < FEWEST:
        return Improvement(value, math.nan, math.nan)
    redrawn = zip(bootstrap_samples(ours, samples, seed), bootstrap_samples(theirs, samples, seed + 1), strict=True)
    wins = [[win_rate(one, other) for one, other in zip(mine, yours, strict=True)] for mine, yours in redrawn]
    low, high = percentile_interval(np.mean(wins, axis=1))
    return Improvement(value, low, high)


def win_rate(ours: Float[np.ndarray, "_"], theirs: Float[np.ndarray, "_"]) -> float:
    """Of all pairs of one of ours and one of theirs; equal ones count half."""
    gap = ours[:, None] - theirs[None]
    return float(((gap > 0) + 0.5 * (gap == 0)).mean())
