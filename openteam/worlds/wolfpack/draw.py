"""Wolfpack as text, from text, and as a picture.

In a text, cells are separated by spaces and rows by line breaks: ``.`` is an empty cell, ``A`` the learner, ``b`` and
``c`` teammates in slots 1 and 2, ``^ > v <`` a prey and where it faces, with ``!`` if it has just been captured. Prey
are numbered in row-major order when read. Absent hunters and hidden prey are not drawn.
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
    slot_of,
    write_cells,
)
from openteam.worlds.wolfpack.state import WolfpackState

ARROWS = "^>v<"
BODY = 0.33  # radius of hunters and prey, in cells
FUR, BELLY, CAUGHT = "#c8803c", "#f3d9b8", "#b8b0a4"


def to_text(state: WolfpackState, size: int) -> str:
    """The grid as characters; ``from_text`` reads it back."""
    cells = np.full((size, size), "", object)
    for slot, (row, column) in enumerate(np.asarray(state.position).tolist()):
        if state.present[slot]:
            cells[row, column] += letters(slot)
    for number, (row, column) in enumerate(np.asarray(state.prey_position).tolist()):
        if state.shown[number]:
            cells[row, column] += ARROWS[int(state.facing[number])] + "!" * bool(state.captured[number])
    return write_cells(cells)


def from_text(text: str, slots: int | None = None) -> WolfpackState:
    """A state from a hand-drawn grid. ``slots`` beyond those drawn are absent."""
    hunters: dict[int, tuple[int, int]] = {}
    prey: list[tuple[int, int, int, bool]] = []
    for row, column, cell in read_cells(text):
        if re.fullmatch(r"[\^>v<]!?", cell):
            prey.append((row, column, ARROWS.index(cell[0]), cell.endswith("!")))
        elif re.fullmatch(r"A|[b-uw-z]|[a-z]{2,}", cell):
            if slot_of(cell) in hunters:
                raise UserError(f"A hunter stands in one cell; got '{cell}' twice. Use another letter.")
            hunters[slot_of(cell)] = (row, column)
        elif cell != ".":
            raise UserError(f"A cell is '.', a hunter like 'A' and 'b', or a prey like '^' and '>!'; got '{cell}'.")
    if not prey:
        raise UserError("A grid needs at least one prey, such as '^'.")
    needed = max(hunters, default=0) + 1
    slots = needed if slots is None else slots
    if needed > slots:
        raise UserError(f"This grid needs {needed} slots; got {slots}. Raise them.")
    position = np.array([hunters.get(slot, (0, 0)) for slot in range(slots)], np.int32)
    cells, facing, captured = (np.array(column) for column in zip(*((p[:2], *p[2:]) for p in prey), strict=True))
    present = np.isin(np.arange(slots), list(hunters))
    values = present, position, cells.astype(np.int32), facing.astype(np.int32), captured, np.ones(len(prey), bool)
    return WolfpackState(*map(jnp.asarray, values))


def to_rgb(state: WolfpackState, size: int, pixels: int = 40) -> UInt8[np.ndarray, "height width 3"]:
    """The grid as a picture with ``pixels`` per cell: hunters are discs, the learner has a crown, prey have ears."""
    unit = pixels * OVERSAMPLE
    image, pen = blank_grid(size, unit)
    for number, cell in enumerate(np.asarray(state.prey_position).tolist()):
        if state.shown[number]:
            colour = CAUGHT if state.captured[number] else FUR
            draw_prey(pen, *centre(cell, unit), BODY * unit, int(state.facing[number]), colour)
    for slot, cell in enumerate(np.asarray(state.position).tolist()):
        if state.present[slot]:
            draw_agent(pen, *centre(cell, unit), BODY * unit, slot)
    return np.array(image.reduce(OVERSAMPLE))


def markers(state: WolfpackState, size: int) -> list[Marker]:
    """Where the picture shows hunters."""
    cells = enumerate(np.asarray(state.position).tolist())
    return [marker(slot, row, column, BODY, size) for slot, (row, column) in cells if state.present[slot]]


def draw_prey(pen: Any, x: float, y: float, r: float, facing: int, colour: str) -> None:
    """A round body with two long ears that point where it faces."""
    turn = np.exp(0.5j * np.pi * facing)

    def oval(right: float, ahead: float, wide: float, long: float, fill: str) -> None:
        angle = np.linspace(0, 2 * np.pi, 40)
        shape = ((right + wide * np.cos(angle)) - 1j * (ahead + long * np.sin(angle))) * turn
        pen.polygon([(x + point.real * r, y + point.imag * r) for point in shape], fill=fill)

    for side in (-0.4, 0.4):
        oval(side, 0.85, 0.26, 0.6, colour)
        oval(side, 0.85, 0.11, 0.4, BELLY)
    oval(0.0, -0.15, 0.85, 0.85, colour)
    oval(0.0, -0.55, 0.4, 0.3, BELLY)
