"""Level-Based Foraging as text, from text, and as a picture.

In a text, cells are separated by spaces and rows by line breaks: ``.`` is an empty cell, ``3`` a food of level 3,
``A1`` the learner with level 1, ``b2`` and ``c1`` teammates in slots 1 and 2, ``A1b2`` two agents in one cell. Absent
agents and eaten foods are not drawn.
"""

from __future__ import annotations

import re
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt8

from openteam.core.world import Marker
from openteam.errors import UserError
from openteam.worlds.grid_drawing import (
    OVERSAMPLE,
    blank_grid,
    centre,
    draw_agent,
    letters,
    marker,
    read_cells,
    ring,
    slot_of,
    write_cells,
)
from openteam.worlds.lbf.state import ForagingState

APPLE, LEAF, STEM = "#d6453d", "#5d9c48", "#70503a"

Body = tuple[int, int, int, int]  # row, column, level, slot (-1 for food)


def to_text(state: ForagingState, size: int) -> str:
    """The grid as characters; ``from_text`` reads it back."""
    cells = np.full((size, size), "", object)
    for row, column, level, slot in bodies(state):
        cells[row, column] += f"{letters(slot)}{level}" if slot >= 0 else str(level)
    return write_cells(cells)


def from_text(text: str, slots: int | None = None, foods: int | None = None) -> ForagingState:
    """A state from a hand-drawn grid. ``slots`` and ``foods`` beyond those drawn are absent and eaten."""
    agents: dict[int, tuple[int, int, int]] = {}
    plants: list[tuple[int, int, int]] = []
    for row, column, cell in read_cells(text):
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
    """The grid as a picture with ``pixels`` per cell: foods are apples, agents are discs, the learner has a crown."""
    unit = pixels * OVERSAMPLE
    image, pen = blank_grid(size, unit)
    for row, column, radius, level, slot in placed(state):
        (x, y), r = centre((row, column), unit), radius * unit
        draw_agent(pen, x, y, r, slot) if slot >= 0 else draw_apple(pen, x, y, r)
        write(pen, x, y, r, level)
    return np.array(image.reduce(OVERSAMPLE))


def markers(state: ForagingState, size: int) -> list[Marker]:
    """Where the picture shows agents."""
    return [marker(slot, row, column, radius, size) for row, column, radius, _, slot in placed(state) if slot >= 0]


def placed(state: ForagingState) -> list[tuple[float, float, float, int, int]]:
    """Row, column, radius, level and slot of everything that is drawn, in cells; those who share one side by side."""
    everyone, found = bodies(state), []
    for row, column, level, slot in everyone:
        sharing = [other for *cell, _, other in everyone if cell == [row, column]]
        right, down, radius = ring(sharing.index(slot), len(sharing))
        found.append((row + down, column + right, radius, level, slot))
    return found


def draw_apple(pen: Any, x: float, y: float, r: float) -> None:
    """Two lobes, a stem and a leaf."""
    for side in (-0.36, 0.36):
        pen.ellipse((x + (side - 0.64) * r, y - 0.8 * r, x + (side + 0.64) * r, y + 0.76 * r), fill=APPLE)
    pen.ellipse((x - 0.74 * r, y - 0.3 * r, x + 0.74 * r, y + 0.9 * r), fill=APPLE)
    pen.line((x, y - 0.6 * r, x + 0.08 * r, y - 1.05 * r), fill=STEM, width=round(0.14 * r))
    turn = np.linspace(0, 2 * np.pi, 40)
    leaf = (0.48 + 0.16j) + (0.4 * np.cos(turn) + 0.18j * np.sin(turn)) * np.exp(0.5j)  # a tilted ellipse
    pen.polygon([(x + z.real * r, y - (0.85 + z.imag) * r) for z in leaf], fill=LEAF)


def write(pen: Any, x: float, y: float, r: float, level: int) -> None:
    """Write a level into the middle of its disc."""
    from PIL import ImageFont

    font = ImageFont.load_default((1.35 - 0.2 * len(str(level))) * r)
    pen.text((x, y), str(level), fill="white", anchor="mm", font=font)


def bodies(state: ForagingState) -> list[Body]:
    """All agents that are present and all foods that are left."""
    agents = np.c_[state.position, state.level, np.arange(len(state.level))][np.asarray(state.present)]
    foods = np.c_[state.food_position, state.food_level, np.full(len(state.food_level), -1)]
    return [tuple(row) for row in np.r_[agents, foods[foods[:, 2] > 0]].tolist()]
