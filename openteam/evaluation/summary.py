"""One figure per run: the mean return over its last checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openteam.results.run_folder import RunFolder


@dataclass(frozen=True)
class Figure:
    """A mean over episodes, and how many."""

    mean: float
    episodes: int


def last_quarter(folder: RunFolder) -> dict[str, Figure]:
    """For every split, the mean return of all evaluation episodes in the last quarter of the checkpoints."""
    rows = folder.rows("episodes.jsonl")
    steps = sorted({row["step"] for row in rows if row["step"] > 0})
    late = set(steps[-max(1, round(len(steps) / 4)) :])
    splits = dict.fromkeys(row["split"] for row in rows)
    returns = {s: [row["return"] for row in rows if row["split"] == s and row["step"] in late] for s in splits}
    return {split: Figure(float(np.mean(values)), len(values)) for split, values in returns.items() if values}


def over_seeds(folders: list[RunFolder]) -> dict[str, tuple[float, float, int]]:
    """For every split: mean over runs, half the width of its 95 % interval (Student's t), episodes in all."""
    figures = [last_quarter(folder) for folder in folders]
    summary = {}
    for split in figures[0]:
        means = np.array([figure[split].mean for figure in figures])
        half = T_975[len(means) - 1] * means.std(ddof=1) / len(means) ** 0.5 if len(means) > 1 else float("nan")
        summary[split] = (float(means.mean()), float(half), sum(figure[split].episodes for figure in figures))
    return summary


T_975 = (float("nan"), 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Quantiles of Student's t by degrees of freedom, up to eleven runs."""
