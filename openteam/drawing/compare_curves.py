"""Learning curves of a comparison: a panel per task and split, a line per algorithm, bands over seeds."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from openteam.analysis.compare import Comparison, Group
from openteam.analysis.paper import published, published_curve
from openteam.analysis.statistics import mean_interval
from openteam.drawing.figures import COLOURS, check_picture, save_picture

DASHES = ("-", "--", ":", "-.")
PUBLISHED: dict[str, Any] = {"ls": ":", "lw": 1, "marker": "o", "ms": 4, "mfc": "none"}


def draw_comparison(path: Path, comparison: Comparison) -> None:
    """Means over seeds with their 95 % intervals, which may leave the panel, or two seeds as they are.

    Diamonds are the paper's values, dotted lines with circles the curves published with its code.
    """
    check_picture(path)
    from matplotlib.figure import Figure

    tasks = comparison.tasks
    columns = max(len(comparison.splits(task)) for task in tasks)
    names = list(dict.fromkeys(group.shown for group in comparison.groups))
    styles = {
        name: (COLOURS[n % len(COLOURS)], DASHES[n // len(COLOURS) % len(DASHES)]) for n, name in enumerate(names)
    }
    figure = Figure(figsize=(max(3.4 * columns, 6), 2.7 * len(tasks) + 0.22 * len(names) + 0.5), layout="constrained")
    panels = figure.subplots(len(tasks), columns, squeeze=False)
    lines: dict[str, Any] = {}
    for row, (task, groups) in zip(panels, tasks.items(), strict=True):
        for panel in row[len(comparison.splits(task)) :]:
            panel.set_axis_off()
        for panel, split in zip(row, comparison.splits(task), strict=False):
            lines |= draw_panel(panel, [group for group in groups if split in group.splits], split, styles)
            panel.set_title(textwrap.fill(f"{task}, {split}", 42), fontsize=9)
        row[0].set_ylabel("mean return")
    for panel in panels[-1]:
        panel.set_xlabel("million steps")
    if anything(published, comparison):
        lines["the paper's, over 8 seeds"] = figure.axes[0].errorbar([], [], [], fmt="D", color="grey", markersize=4)
    if anything(published_curve, comparison):
        (lines["published curves, over 8 seeds"],) = figure.axes[0].plot([], [], color="grey", **PUBLISHED)
    texts = [textwrap.fill(name, 90) for name in lines]
    figure.legend(
        lines.values(), texts, loc="outside lower center", ncols=columns if max(map(len, texts)) < 32 else 1,
        frameon=False, fontsize=9,
    )  # fmt: skip
    save_picture(figure, path)


def draw_panel(panel: Any, groups: list[Group], split: str, styles: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """One task and split; what the legend needs of it."""
    lines: dict[str, Any] = {}
    bands: list[tuple[Any, ...]] = []
    published_already: set[str] = set()
    right = max(group.checkpoints[-1] for group in groups) / 1e6
    for group in groups:
        colour, dash = styles[group.shown]
        steps = np.array(group.checkpoints) / 1e6
        mean, half = mean_interval(group.curves(split))
        (lines[group.shown],) = panel.plot(steps, mean, dash, color=colour, linewidth=1.6)
        if len(group.runs) == 2:  # the interval of two is so wide that it says less than the two
            panel.plot(steps, group.curves(split).T, dash, color=colour, linewidth=0.7, alpha=0.6)
        elif len(group.runs) > 2:
            bands.append((steps, mean - half, mean + half, colour))
        if group.algorithm.name in published_already:
            continue
        name = (group.task.name, group.algorithm.name, split)
        if paper := published(*name):
            place = right * (1.03 + 0.025 * len(published_already))
            panel.errorbar(place, *paper, fmt="D", color=colour, markersize=4, capsize=2, elinewidth=1)
        if points := [(step / 1e6, mean) for step, mean in published_curve(*name) if step <= 1.01e6 * right]:
            panel.plot(*zip(*points, strict=True), color=colour, **PUBLISHED)
        published_already.add(group.algorithm.name)
    panel.set_ylim(panel.get_ylim())  # lines decide: a few wide bands would press them flat
    for steps, low, high, colour in bands:
        panel.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
    panel.grid(alpha=0.25)
    return lines


def anything(known: Callable[[str, str, str], object], comparison: Comparison) -> bool:
    """Whether the paper has something like this for anything that is compared."""
    return any(
        known(group.task.name, group.algorithm.name, split) for group in comparison.groups for split in group.splits
    )
