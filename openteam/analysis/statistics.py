"""Few seeds, honestly summed up: means, interquartile means and their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

Statistic = Callable[[Float[np.ndarray, "scores"]], float]


def mean_interval(
    values: Float[np.ndarray, "seeds *rest"], confidence: float = 0.95
) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    """Mean over seeds and half the width of its interval by Student's t; nan where there is only one seed."""
    seeds = len(values)
    mean = np.asarray(values.mean(0))
    if seeds == 1:
        return mean, np.full_like(mean, np.nan)
    return mean, np.asarray(t_quantile(seeds - 1, confidence) * values.std(0, ddof=1) / seeds**0.5)


def t_quantile(freedom: int, confidence: float) -> float:
    """What abs(T) stays below with this probability, T having Student's distribution of ``freedom`` degrees."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_central(middle, freedom) < confidence else (low, middle)
    return freedom**0.5 * math.tan(low)


def _t_central(angle: float, freedom: int) -> float:
    """P(abs(T) < sqrt(freedom) tan(angle)), a finite sum (Abramowitz and Stegun, 26.7)."""
    odd = freedom % 2
    term, total = math.cos(angle) ** odd, 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


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
    chance = np.random.default_rng(seed)
    drawn = [chance.choice(task, (samples, len(task))) for task in scores]
    values = [statistic(sample) for sample in np.concatenate(drawn, axis=1)]
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
