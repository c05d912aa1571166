"""A cross-play matrix as a heat map, and returns over team sizes as curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from openteam.analysis.crossplay import Matrix
from openteam.analysis.statistics import mean_interval
from openteam.drawing.figures import COLOURS


def draw_matrix(title: str, matrix: Matrix) -> Any:
    """A line per learner, a column per type and team size; numbers are normalised, grey is what cannot be played."""
    from matplotlib.figure import Figure

    values, lines = matrix.normalised, len(matrix.learners)
    width = max(6.0, 0.62 * len(matrix.places) + 3)
    figure = Figure(figsize=(width, 0.42 * lines + 2.6), layout="constrained")
    panel = figure.subplots()
    panel.set_facecolor("#cccccc")
    image = panel.imshow(values, vmin=0, vmax=1, cmap="cividis", aspect="auto")
    for (line, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "black" if value > 0.55 else "white"
            panel.text(column, line, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    names = [f"{name}, {size}" for name, size in matrix.places]
    panel.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
    panel.set_yticks(range(lines), matrix.learners, fontsize=9)
    panel.set(xlabel="teammate type, largest team", title=title)
    figure.colorbar(image, ax=panel, label="0: random learner, 1: best response", extend="both")
    return figure


def draw_sizes(rows: Sequence[dict[str, Any]]) -> Any:
    """Mean returns over seeds by the largest team, a panel per task, a line per algorithm."""
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(row["task"] for row in rows))
    figure = Figure(figsize=(4.4 * len(tasks) + 1.6, 3.8), layout="constrained")
    for panel, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        ours = [row for row in rows if row["task"] == task and "return" in row]
        for number, name in enumerate(dict.fromkeys(row["algorithm"] for row in ours)):
            sizes, mean, half = size_curve([row for row in ours if row["algorithm"] == name])
            colour = COLOURS[number % len(COLOURS)]
            panel.errorbar(sizes, mean, np.nan_to_num(half), marker="o", ms=4, capsize=2, color=colour, label=name)
        panel.set(xlabel="largest team", ylabel="mean return", title=task)
        panel.set_xticks(sorted({row["size"] for row in ours}))
        panel.grid(alpha=0.25)
        panel.legend(frameon=False, fontsize=8)
    return figure


def size_curve(rows: Sequence[dict[str, Any]]) -> tuple[list[int], list[float], list[float]]:
    """Team sizes, mean over seeds, and half its 95 % interval (nan with one seed)."""
    sizes = sorted({row["size"] for row in rows})
    stats = [mean_interval(np.array([row["return"] for row in rows if row["size"] == size])) for size in sizes]
    return sizes, [float(mean) for mean, _ in stats], [float(half) for _, half in stats]
