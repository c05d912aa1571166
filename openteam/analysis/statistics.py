"""Few seeds, honestly summed up: means, interquartile means and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

Statistic = Callable[[Float[np.ndarray, "scores"]], float]


def mean_interval(
    values: Float[np.ndarray, "seeds *rest"], confidence: float = 0.95
) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    """Mean over seeds and half the width of its interval by Student's t; nan where there is only one seed."""
    seeds = len(values)
    mean = np.asarray(values.mean(0))
    if seeds == 1:
        return mean, np.full_like(mean, np.nan)
    quantile = stdtrit(seeds - 1, (1 + confidence) / 2)
    return mean, np.asarray(quantile * values.std(0, ddof=1) / seeds**0.5)


def interquartile_mean(scores: Float[np.ndarray, "scores"]) -> float:
    """Mean of the middle half: no single seed or task decides it."""
    cut = len(scores) // 4
    return float(np.sort(scores)[cut : len(scores) - cut].mean())


def bootstrap_interval(
    scores: Sequence[Float[np.ndarray, "_"]],
    statistic: Statistic = interquartile_mean,
    *,
    samples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of a statistic of all scores, of which ``scores`` holds the seeds of one task each.

    Stratified: every sample draws as many seeds of each task as it has, so no task is drawn more often than another.
    """
    values = [statistic(np.concatenate(sample)) for sample in bootstrap_samples(scores, samples, seed)]
    return percentile_interval(np.array(values), confidence)


def bootstrap_samples(
    scores: Sequence[Float[np.ndarray, "_"]], samples: int, seed: int
) -> Iterator[tuple[Float[np.ndarray, "_"], ...]]:
    """As many seeds of each task as it has, drawn with replacement; the same seed draws the same."""
    chance = np.random.default_rng(seed)
    drawn = [chance.choice(task, (samples, len(task))) for task in scores]
    return zip(*drawn, strict=True)


def percentile_interval(values: Float[np.ndarray, "samples"], confidence: float = 0.95) -> tuple[float, float]:
    """What leaves out equally many of the values on both sides."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
