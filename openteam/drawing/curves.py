"""Learning curves of runs: mean evaluation return over steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from openteam.drawing.figures import check_picture, save_picture
from openteam.storage.run_folder import RunFolder


def split_curves(folder: RunFolder) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For every split: steps, and the mean return at each."""
    returns: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in folder.rows_of_checkpoints("episodes.jsonl"):
        returns[row["split"]][row["step"]].append(row["return"])
    return {
        split: (np.array(list(points)), np.array([np.mean(values) for values in points.values()]))
        for split, points in returns.items()
    }


def draw_curves(
    path: Path,
    runs: Mapping[str, Sequence[RunFolder]],
    *,
    title: str,
    lines: Mapping[str, float] | None = None,
) -> None:
    """One panel per split; a line per name, the mean over its runs with their range; dashed lines for comparison."""
    check_picture(path)
    from matplotlib.figure import Figure

    curves = {name: [split_curves(folder) for folder in folders] for name, folders in runs.items()}
    splits = list(dict.fromkeys(split for group in curves.values() for curve in group for split in curve))
    figure = Figure(figsize=(4.2 * len(splits), 3.4), layout="constrained")
    axes = figure.subplots(1, len(splits), sharey=True, squeeze=False)[0]
    for axis, split in zip(axes, splits, strict=True):
        for name, group in curves.items():
            steps = group[0][split][0] / 1e6
            values = np.stack([curve[split][1] for curve in group])
            (line,) = axis.plot(steps, values.mean(0), label=name, linewidth=1.6)
            if len(group) > 1:
                axis.fill_between(steps, values.min(0), values.max(0), alpha=0.2, color=line.get_color(), linewidth=0)
        for label, value in (lines or {}).items():
            if label.startswith(f"{split}:"):
                axis.axhline(value, linestyle="--", linewidth=1, color="grey")
                axis.annotate(label.split(":", 1)[1], (axis.get_xlim()[0], value), ha="left", va="bottom", fontsize=8,
                              color="grey")  # fmt: skip
        axis.set(title=split, xlabel="million steps")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("mean return per episode")
    axes[0].legend(frameon=False)
    axes[0].set_ylim(bottom=min(0, axes[0].get_ylim()[0]))
    figure.suptitle(title)
    save_picture(figure, path)
