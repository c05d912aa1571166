"""Performance profiles: a panel per split, a line per algorithm, its 95 % interval as a band."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from openteam.analysis.compare import At, Comparison, scaled_scores
from openteam.analysis.profiles import performance_profile
from openteam.drawing.compare_curves import BANDS, DASHES
from openteam.drawing.figures import COLOURS, save_picture
from openteam.errors import UserError

THRESHOLDS = 201
Scores = dict[str, list[Float[np.ndarray, "_"]]]


def draw_profiles(path: Path, comparison: Comparison, at: At) -> None:
    """Write the profiles of all splits on which at least two finished algorithms can be compared."""
    found = {split: scores for split in comparison.all_splits if (scores := scores_of(comparison, split, at))}
    if not found:
        raise UserError("A profile compares at least two finished algorithms on the same tasks; these runs have none.")
    several = len(comparison.tasks) > 1
    save_picture(profile_figure(found, "return, scaled per task" if several else "mean return of a run"), path)


def scores_of(comparison: Comparison, split: str, at: At) -> Scores:
    """Scaled scores of the algorithms that several tasks share; of one task alone, returns as they are."""
    if len(comparison.tasks) > 1:
        return scaled_scores(comparison, split, at)
    groups = [group for group in comparison.groups if group.finished and split in group.splits]
    return {group.shown: [group.scores(split, at)] for group in groups} if len(groups) > 1 else {}


def profile_figure(found: dict[str, Scores], label: str) -> Any:
    """A panel per split."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for scores in found.values() for name in scores))
    styles = {name: style(number) for number, name in enumerate(names)}
    figure = Figure(figsize=(3.6 * len(found), 3.6 + 0.11 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for panel, (split, scores) in zip(panels, found.items(), strict=True):
        draw_panel(panel, scores, styles)
        panel.set(title=split, xlabel=f"τ: {label}")
    panels[0].set_ylabel("part of runs above τ")
    handles = [panels[0].plot([], [], dash, color=colour)[0] for colour, dash in styles.values()]
    figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(names)), frameon=False, fontsize=8)
    return figure


def style(number: int) -> tuple[str, str]:
    """A colour, and another dash once all colours are taken."""
    return COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]


def draw_panel(panel: Any, scores: Scores, styles: dict[str, tuple[str, str]]) -> None:
    """All algorithms of a split, from below the lowest to above the highest of their scores."""
    every = np.concatenate([task for tasks in scores.values() for task in tasks])
    margin = 0.05 * (np.ptp(every) or 1.0)
    thresholds = np.linspace(every.min() - margin, every.max() + margin, THRESHOLDS)
    for name, tasks in scores.items():
        profile, (colour, dash) = performance_profile(tasks, thresholds), styles[name]
        panel.step(thresholds, profile.above, dash, where="post", color=colour, linewidth=1.6)
        if len(scores) <= BANDS:
            panel.fill_between(thresholds, profile.low, profile.high, step="post", color=colour, alpha=0.12)
    panel.grid(alpha=0.25)
