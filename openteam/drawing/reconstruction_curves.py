"""How well beliefs match the truth over training: a panel per metric and task, a line per algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from openteam.analysis.series import series
from openteam.drawing.figures import COLOURS, check_picture, save_picture
from openteam.drawing.lines import draw_mean

PANELS = {
    "seen_actions": "log likelihood: actions of\nteammates in sight",
    "all_actions": "log likelihood: actions of\nall teammates",
    "state": "log likelihood: a feature of\nthe true state",
    "existence_error": "squared error: number of\nteammates",
}


def draw_reconstruction(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Draw the metrics and write the picture."""
    check_picture(path)
    save_picture(reconstruction_figure(rows), path)


def reconstruction_figure(rows: Sequence[dict[str, Any]]) -> Any:
    """Means over seeds; the band is their 95 % interval where there are three or more, else their range.

    What a network says before it has learned anything is not shown: the rest would be pressed flat.
    """
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(row["task"] for row in rows))
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    figure = Figure(figsize=(3.2 * len(PANELS), 2.6 * len(tasks) + 1.0), layout="constrained")
    panels = figure.subplots(len(tasks), len(PANELS), squeeze=False)
    lines: dict[str, Any] = {}
    for line, task in zip(panels, tasks, strict=True):
        for panel, (metric, title) in zip(line, PANELS.items(), strict=True):
            for number, name in enumerate(names):
                steps, values = curve(rows, task, name, metric)
                if len(steps):
                    lines[name] = draw_mean(panel, steps, values, COLOURS[number % len(COLOURS)])
            panel.grid(alpha=0.25)
            if task == tasks[0]:
                panel.set_title(title, fontsize=10)
        line[0].set_ylabel(task)
    for panel in panels[-1]:
        panel.set_xlabel("million steps")
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


def curve(rows: Sequence[dict[str, Any]], task: str, name: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps in millions, and a row of values per seed; step 0 and steps that some seed lacks are left out.

    Who believes in no more than it sees, and so has no state to show, counts only those: no line for existence.
    """
    needed = {metric, "state"} if metric == "existence_error" else {metric}
    ours = [row for row in rows if row["task"] == task and row["algorithm"] == name and needed <= row.keys()]
    steps, values = series([row for row in ours if row["step"]], metric)
    return steps / 1e6, values
