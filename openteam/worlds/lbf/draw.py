"""Level-Based Foraging as text, from text, and as a picture.

Cells of a text are separated by spaces, rows by line breaks: ``.`` is an empty cell, ``3`` a food of level 3, ``A1``
the learner with level 1, ``b2`` and ``c1`` teammates in slots 1 and 2. Agents that share a cell stand together, as in
``A1b2``. Absent agents and eaten foods are not drawn.
"""

from __future__ import annotations

import re
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt8

from openteam.errors import UserError
from openteam.worlds.lbf.state import ForagingState

PAPER, LINES, APPLE, LEAF, STEM = "#fbfaf6", "#e3dfd4", "#d6453d", "#5d9c48", "#70503a"
LEARNER, GOLD = "#22304f", "#f2b134"
TEAMMATES = ("#3f7fd0", "#279487", "#8a5cc2", "#6f7d8c", "#b9548f", "#4c9a3f", "#a37a2c")
FINER = 4  # a picture is drawn this much larger, then shrunk: smooth edges

Body = tuple[int, int, int, int]  # row, column, level, slot (-1 for food)


def to_text(state: ForagingState, size: int) -> str:
    """The grid as characters; ``from_text`` reads it back."""
    cells = np.full((size, size), "", object)
    for row, column, level, slot in bodies(state):
        cells[row, column] += f"{letters(slot)}{level}" if slot >= 0 else str(level)
    width = max(len(cell) for cell in cells.flat)
    return "\n".join(" ".join((cell or ".").ljust(width) for cell in row).rstrip() for row in cells)


def from_text(text: str, slots: int | None = None, foods: int | None = None) -> ForagingState:
    """A state from a hand-drawn grid. Of more ``slots`` or ``foods`` than are drawn, the rest is absent or eaten."""
    grid = [line.split() for line in text.strip().splitlines()]
    if any(len(row) != len(grid) for row in grid):
        raise UserError(f"A grid has as many columns as rows; got rows of {[len(row) for row in grid]} cells.")
    agents: dict[int, tuple[int, int, int]] = {}
    plants: list[tuple[int, int, int]] = []
    for (row, column), cell in np.ndenumerate(np.array(grid)):
        if re.fullmatch(r"[1-9]\d*", cell):
            plants.append((row, column, int(cell)))
        elif re.fullmatch(r"((A|[b-z]|[a-z]{2,})[1-9]\d*)+", cell):
            for name, level in re.findall(r"(\D+)(\d+)", cell):
                if slot_of(name) in agents:
                    raise UserError(f"An agent stands in one cell; got '{name}' twice. Use another letter.")
                agents[slot_of(name)] = (row, column, int(level))
        elif cell != ".":
            raise UserError(f"A cell is '.', a food like '3', or agents like 'A1' and 'b2'; got '{cell}'.")
    needed = max(agents, default=0) + 1
    slots, foods = needed if slots is None else slots, len(plants) if foods is None else foods
    if needed > slots or len(plants) > foods:
        raise UserError(f"This grid needs {needed} slots and {len(plants)} foods; got {slots} and {foods}. Raise them.")
    body = np.array([agents.get(slot, (0, 0, 1)) for slot in range(slots)], np.int32).reshape(slots, 3)
    plant = np.array(plants + [(0, 0, 0)] * (foods - len(plants)), np.int32).reshape(foods, 3)
    present = np.isin(np.arange(slots), list(agents))
    return ForagingState(*map(jnp.asarray, (present, body[:, :2], body[:, 2], plant[:, :2], plant[:, 2])))


def to_rgb(state: ForagingState, size: int, pixels: int = 48) -> UInt8[np.ndarray, "height width 3"]:
    """The grid as a picture, ``pixels`` a cell: foods are apples, agents are discs, the learner wears a crown."""
    unit, everyone = pixels * FINER, bodies(state)
    image, pen = ruled_paper(size, unit)
    for row, column, level, slot in everyone:
        sharing = [other for *cell, _, other in everyone if cell == [row, column]]
        right, down, radius = ring(sharing.index(slot), len(sharing))
        x, y, r = (column + 0.5 + right) * unit + FINER / 2, (row + 0.5 + down) * unit + FINER / 2, radius * unit
        draw_agent(pen, x, y, r, slot) if slot >= 0 else draw_apple(pen, x, y, r)
        write(pen, x, y, r, level)
    return np.array(image.reduce(FINER))


def ruled_paper(size: int, unit: int) -> tuple[Any, Any]:
    """An empty grid with cells of ``unit`` fine pixels, and a pen for it."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise UserError("Drawing pictures needs Pillow, which is missing: pip install 'openteam[plots]'.") from error
    edge = size * unit + FINER
    image = Image.new("RGB", (edge, edge), PAPER)
    pen = ImageDraw.Draw(image)
    for at in range(0, size * unit + 1, unit):
        pen.rectangle((at, 0, at + FINER - 1, image.height), fill=LINES)
        pen.rectangle((0, at, image.width, at + FINER - 1), fill=LINES)
    return image, pen


def ring(number: int, count: int) -> tuple[float, float, float]:
    """Where in a cell the disc of one out of ``count`` bodies goes, and its radius: in a ring, side by side."""
    if count == 1:
        return 0.0, 0.0, 0.35
    reach = 0.48 / (1 + np.sin(np.pi / count))
    angle = np.pi + 2 * np.pi * number / count
    return float(reach * np.cos(angle)), float(reach * np.sin(angle)), float(0.95 * reach * np.sin(np.pi / count))


def draw_apple(pen: Any, x: float, y: float, r: float) -> None:
    """Two lobes, a stem and a leaf."""
    for side in (-0.36, 0.36):
        pen.ellipse((x + (side - 0.64) * r, y - 0.8 * r, x + (side + 0.64) * r, y + 0.76 * r), fill=APPLE)
    pen.ellipse((x - 0.74 * r, y - 0.3 * r, x + 0.74 * r, y + 0.9 * r), fill=APPLE)
    pen.line((x, y - 0.6 * r, x + 0.08 * r, y - 1.05 * r), fill=STEM, width=round(0.14 * r))
    turn = np.linspace(0, 2 * np.pi, 40)
    leaf = (0.48 + 0.16j) + (0.4 * np.cos(turn) + 0.18j * np.sin(turn)) * np.exp(0.5j)  # a tilted ellipse
    pen.polygon([(x + z.real * r, y - (0.85 + z.imag) * r) for z in leaf], fill=LEAF)


def draw_agent(pen: Any, x: float, y: float, r: float, slot: int) -> None:
    """A disc in the colour of its slot; the learner's is dark, with a golden ring and a crown."""
    if slot == 0:
        crown = ((-0.6, -0.7), (-0.7, -1.28), (-0.3, -1.0), (0, -1.38), (0.3, -1.0), (0.7, -1.28), (0.6, -0.7))
        pen.polygon([(x + right * r, y + down * r) for right, down in crown], fill=GOLD)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=LEARNER, outline=GOLD, width=round(0.15 * r))
    else:
        pen.ellipse((x - r, y - r, x + r, y + r), fill=TEAMMATES[(slot - 1) % len(TEAMMATES)])


def write(pen: Any, x: float, y: float, r: float, level: int) -> None:
    """A level, centred, small enough for its disc."""
    from PIL import ImageFont

    font = ImageFont.load_default((1.35 - 0.2 * len(str(level))) * r)
    pen.text((x, y), str(level), fill="white", anchor="mm", font=font)


def bodies(state: ForagingState) -> list[Body]:
    """Everybody who is present and every food that is left."""
    agents = np.c_[state.position, state.level, np.arange(len(state.level))][np.asarray(state.present)]
    foods = np.c_[state.food_position, state.food_level, np.full(len(state.food_level), -1)]
    return [tuple(row) for row in np.r_[agents, foods[foods[:, 2] > 0]].tolist()]


def letters(slot: int) -> str:
    """A for the learner, then b, c, ... z, aa, ab, ..."""
    head, tail = divmod(slot, 26)
    return "A" if slot == 0 else (letters(head - 1).lower() if head else "") + chr(ord("a") + tail)


def slot_of(name: str) -> int:
    """The slot that ``letters`` names so."""
    slot = -1
    for letter in name.lower():
        slot = (slot + 1) * 26 + ord(letter) - ord("a")
    return slot
