"""A mean over seeds as a line, with what its seeds leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from openteam.analysis.statistics import mean_interval


def draw_mean(
    panel: Any,
    steps: Float[np.ndarray, "checkpoints"] | Int[np.ndarray, "checkpoints"],
    values: Float[np.ndarray, "seeds checkpoints"],
    colour: str,
    dash: str = "-",
) -> Any:
    """The line. Its band is the 95 % interval over three seeds or more, else their range."""
    mean, half = mean_interval(values)
    low, high = (mean - half, mean + half) if len(values) > 2 else (values.min(0), values.max(0))
    (line,) = panel.plot(steps, mean, dash, color=colour, linewidth=1.6)
    panel.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
    return line


def draw_seeds(panel: Any, place: int, values: Float[np.ndarray, "seeds"], colour: str) -> Any:
    """A dot per seed above one place, and a bar at their mean."""
    panel.plot([place - 0.25, place + 0.25], [values.mean()] * 2, color=colour, linewidth=1.6)
    (dots,) = panel.plot(np.full(len(values), place), values, "o", color=colour, markersize=5, alpha=0.75)
    return dots
