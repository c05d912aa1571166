"""Penalized Cooperative Navigation as text, from text, and as a picture.

In a text, cells are separated by spaces and rows by line breaks: ``.`` is an empty cell, ``*`` a destination, ``A`` the
learner, ``b`` and ``c`` teammates in slots 1 and 2, ``A*`` the learner on a destination, ``A+b`` two agents in one
cell. Absent agents are not drawn.
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
from openteam.worlds.navigation.state import DESTINATIONS, HIDDEN, NavigationState

TARGET, WHITE = "#e2703a", "#ffffff"


def to_text(state: NavigationState, size: int) -> str:
    """The grid as characters; ``from_text`` reads it back."""
    cells = np.full((size, size), "", object)
    for (row, column), slots in standing(state).items():
        cells[row, column] = "+".join(map(letters, slots))
    for row, column in destinations_of(state):
        cells[row, column] += "*"
    return write_cells(cells)


def from_text(text: str, slots: int | None = None, most: int = DESTINATIONS) -> NavigationState:
    """A state from a hand-drawn grid. ``slots`` beyond those drawn are absent; ``most`` is the world's."""
    agents: dict[int, tuple[int, int]] = {}
    destinations: list[tuple[int, int]] = []
    for row, column, cell in read_cells(text):
        if not re.fullmatch(r"\.|\*|(A|[b-z]|[a-z]{2,})(\+(A|[b-z]|[a-z]{2,}))*\*?", cell):
            raise UserError(f"A cell is '.', '*', or agents like 'A', 'b*' and 'A+b'; got '{cell}'.")
        if cell.endswith("*"):
            destinations.append((row, column))
        for name in re.findall(r"\w+", cell):
            if slot_of(name) in agents:
                raise UserError(f"An agent stands in one cell; got '{name}' twice. Use another letter.")
            agents[slot_of(name)] = (row, column)
    needed = max(agents, default=0) + 1
    slots = needed if slots is None else slots
    if needed > slots or not DESTINATIONS <= len(destinations) <= most:
        number = DESTINATIONS if most == DESTINATIONS else f"{DESTINATIONS} to {most}"
        raise UserError(
            f"This grid needs {needed} slots and has {len(destinations)} destinations; got {slots} slots, and there "
            f"are always {number} destinations."
        )
    destinations += [(HIDDEN, HIDDEN)] * (most - len(destinations))
    position = np.array([agents.get(slot, (0, 0)) for slot in range(slots)], np.int32)
    present = np.isin(np.arange(slots), list(agents))
    return NavigationState(*map(jnp.asarray, (present, position, np.array(destinations, np.int32))))


def to_rgb(state: NavigationState, size: int, pixels: int = 40) -> UInt8[np.ndarray, "height width 3"]:
    """The grid as a picture with ``pixels`` per cell: targets, discs for agents, a crown for the learner."""
    unit = pixels * OVERSAMPLE
    image, pen = blank_grid(size, unit)
    for cell in destinations_of(state):
        draw_target(pen, *centre(cell, unit), 0.48 * unit)
    for row, column, radius, slot in placed(state):
        draw_agent(pen, *centre((row, column), unit), radius * unit, slot)
    return np.array(image.reduce(OVERSAMPLE))


def markers(state: NavigationState, size: int) -> list[Marker]:
    """Where the picture shows agents."""
    return [marker(slot, row, column, radius, size) for row, column, radius, slot in placed(state)]


def placed(state: NavigationState) -> list[tuple[float, float, float, int]]:
    """Row, column, radius and slot of everybody, in cells; those who share one side by side."""
    found = []
    for (row, column), slots in standing(state).items():
        for number, slot in enumerate(slots):
            right, down, radius = ring(number, len(slots))
            found.append((row + down, column + right, 0.85 * radius, slot))
    return found


def destinations_of(state: NavigationState) -> list[tuple[int, int]]:
    """The cells of all destinations there are."""
    return [(row, column) for row, column in np.asarray(state.destination).tolist() if row != HIDDEN]


def draw_target(pen: Any, x: float, y: float, r: float) -> None:
    """A bull's eye."""
    for share, colour in ((1, TARGET), (0.75, WHITE), (0.5, TARGET), (0.2, WHITE)):
        pen.ellipse((x - share * r, y - share * r, x + share * r, y + share * r), fill=colour)


def standing(state: NavigationState) -> dict[tuple[int, int], list[int]]:
    """The slots of those present, by cell."""
    cells: dict[tuple[int, int], list[int]] = {}
    for slot, (row, column) in enumerate(np.asarray(state.position).tolist()):
        if state.present[slot]:
            cells.setdefault((row, column), []).append(slot)
    return cells
