"""What every picture needs: matplotlib, a format that it knows, a place to be written to."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from openteam.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6BB1")
"""Okabe and Ito's, which people with any colour vision can tell apart, but for yellow: names are written in them."""


def check_picture(path: Path) -> None:
    """Complain of a picture that cannot be drawn, before the work that it would show."""
    if path.suffix not in FORMATS:
        raise UserError(f"Pictures are drawn as {', '.join(FORMATS)}; got {path}.")
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError("Drawing needs matplotlib. Install it: pip install 'openteam[plots]'")


def save_picture(figure: Figure, path: Path) -> None:
    """Write it, in a new folder if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}.") from None
