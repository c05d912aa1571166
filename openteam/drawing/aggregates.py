"""Interquartile means as the paper draws them: a panel per world, a bar with its interval per algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openteam.analysis.aggregate import Aggregate
from openteam.analysis.targets import row_title
from openteam.drawing.figures import COLOURS


def draw_aggregates(found: Sequence[Aggregate], tasks: Sequence[str], rows: Sequence[str]) -> Any:
    """Rows that are missing keep their place and say so."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(tasks), 0.42 * len(rows) + 1.4), layout="constrained")
    panels = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
    places = {(one.task, one.row): one for one in found}
    for panel, task in zip(panels, tasks, strict=True):
        panel.use_sticky_edges = False  # the ends of intervals are not those of the panel
        for number, row in enumerate(rows):
            one = places.get((task, row))
            if one is None:
                panel.text(0.02, number, "missing", transform=panel.get_yaxis_transform(), va="center", color="#777777")
                continue
            colour = COLOURS[number % len(COLOURS)]
            panel.barh(number, one.high - one.low, 0.5, left=one.low, color=colour, alpha=0.35)
            panel.plot([one.middle] * 2, [number - 0.32, number + 0.32], color=colour, linewidth=2)
        panel.set(title=task, xlabel="interquartile mean of returns")
        panel.set_yticks(range(len(rows)), [row_title(row) for row in rows])
        panel.set_ylim(len(rows) - 0.4, -0.6)
        panel.grid(axis="x", alpha=0.25)
    return figure
