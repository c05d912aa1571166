"""The table of FortAttack's duels as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from openteam.drawing.figures import check_picture, save_picture


def draw_duels(path: Path, held: Float[np.ndarray, "guards attackers"], names: Sequence[str]) -> None:
    """The table as a picture, dark where the fort is held."""
    check_picture(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    axis = figure.subplots()
    axis.imshow(held, cmap="Greens", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(held):
        colour = "white" if share > 0.6 else "black"
        axis.text(column, row, f"{share:.0%}", ha="center", va="center", color=colour, fontsize=9)
    axis.set(
        xticks=range(len(names)), yticks=range(len(names)), xticklabels=names, yticklabels=names,
        xlabel="attackers", ylabel="guards", title="How often the fort is held",
    )  # fmt: skip
    axis.tick_params(axis="x", rotation=45)
    save_picture(figure, path)
