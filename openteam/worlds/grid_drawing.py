"""What grid worlds share in drawing: names of slots, grids as text, and pictures of an empty grid and of agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from openteam.core.world import Marker
from openteam.errors import UserError

BACKGROUND, LINES, LEARNER, GOLD = "#fbfaf6", "#e3dfd4", "#22304f", "#f2b134"
TEAMMATES = ("#3f7fd0", "#279487", "#8a5cc2", "#6f7d8c", "#b9548f", "#4c9a3f", "#a37a2c")
OVERSAMPLE = 4  # pictures are drawn this much larger, then reduced, for smooth edges


def letters(slot: int) -> str:
    """The name of a slot: A for the learner, then b, c, ... z, aa, ab, ..."""
    head, tail = divmod(slot, 26)
    return "A" if slot == 0 else (letters(head - 1).lower() if head else "") + chr(ord("a") + tail)


def slot_of(name: str) -> int:
    """The inverse of ``letters``."""
    slot = -1
    for letter in name.lower():
        slot = (slot + 1) * 26 + ord(letter) - ord("a")
    return slot


def write_cells(cells: np.ndarray) -> str:
    """A grid of strings as text, in columns of equal width; empty cells are dots."""
    width = max(len(cell) for cell in cells.flat)
    return "\n".join(" ".join((cell or ".").ljust(width) for cell in row).rstrip() for row in cells)


def read_cells(text: str) -> Iterator[tuple[int, int, str]]:
    """Row, column and string of every cell of a square text."""
    grid = [line.split() for line in text.strip().splitlines()]
    if any(len(row) != len(grid) for row in grid):
        raise UserError(f"A grid has as many columns as rows; got rows of {[len(row) for row in grid]} cells.")
    return ((row, column, cell) for row, line in enumerate(grid) for column, cell in enumerate(line))


def blank_grid(size: int, unit: int) -> tuple[Any, Any]:
    """The image of an empty grid with cells of ``unit`` pixels, and a pen to draw on it."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise UserError("Drawing pictures needs Pillow, which is missing: pip install 'openteam[plots]'.") from error
    edge = size * unit + OVERSAMPLE
    image = Image.new("RGB", (edge, edge), BACKGROUND)
    pen = ImageDraw.Draw(image)
    for at in range(0, size * unit + 1, unit):
        pen.rectangle((at, 0, at + OVERSAMPLE - 1, image.height), fill=LINES)
        pen.rectangle((0, at, image.width, at + OVERSAMPLE - 1), fill=LINES)
    return image, pen


def centre(cell: Sequence[int | float], unit: int) -> tuple[float, float]:
    """The pixel (x, y) in the middle of a cell (row, column)."""
    row, column = cell
    return (column + 0.5) * unit + OVERSAMPLE / 2, (row + 0.5) * unit + OVERSAMPLE / 2


def ring(number: int, count: int) -> tuple[float, float, float]:
    """Offset and radius of one of ``count`` discs in a cell, placed side by side in a ring."""
    if count == 1:
        return 0.0, 0.0, 0.35
    reach = 0.48 / (1 + np.sin(np.pi / count))
    angle = np.pi + 2 * np.pi * number / count
    return float(reach * np.cos(angle)), float(reach * np.sin(angle)), float(0.95 * reach * np.sin(np.pi / count))


def colour_of(slot: int) -> str:
    """The colour of whoever is in a slot."""
    return LEARNER if slot == 0 else TEAMMATES[(slot - 1) % len(TEAMMATES)]


def marker(slot: int, row: int | float, column: int | float, radius: float, size: int) -> Marker:
    """The marker of an agent at a place of the grid; all but the slot are in cells."""
    return Marker(slot, (column + 0.5) / size, (row + 0.5) / size, radius / size, colour_of(slot))


def draw_agent(pen: Any, x: float, y: float, r: float, slot: int) -> None:
    """A disc in the colour of its slot; the learner's is dark, with a golden ring and a crown."""
    if slot == 0:
        crown = ((-0.6, -0.7), (-0.7, -1.28), (-0.3, -1.0), (0, -1.38), (0.3, -1.0), (0.7, -1.28), (0.6, -0.7))
        pen.polygon([(x + right * r, y + down * r) for right, down in crown], fill=GOLD)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour_of(slot), outline=GOLD, width=round(0.15 * r))
    else:
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour_of(slot))
