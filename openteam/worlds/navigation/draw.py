"""Penalized Cooperative Navigation as text, from text, and as a picture.

Cells of a text are separated by spaces, rows by line breaks: ``.`` is an empty cell, ``*`` a destination, ``A`` the
learner, ``b`` and ``c`` teammates in slots 1 and 2. ``A*`` stands on a destination, ``A+b`` share a cell. Absent agents
are not drawn.
"""

from __future__ import annotations

import re
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt8

from openteam.errors import UserError
from openteam.worlds.lbf.draw import FINER, draw_agent, letters, ring, ruled_paper, slot_of
from openteam.worlds.navigation.state import DESTINATIONS, NavigationState

TARGET, WHITE = "#e2703a", "#ffffff"


def to_text(state: NavigationState, size: int) -> str:
    """The grid as characters; ``from_text`` reads it back."""
    cells = np.full((size, size), "", object)
    for (row, column), slots in standing(state).items():
        cells[row, column] = "+".join(map(letters, slots))
    for row, column in np.asarray(state.destination).tolist():
        cells[row, column] += "*"
    width = max(len(cell) for cell in cells.flat)
    return "\n".join(" ".join((cell or ".").ljust(width) for cell in row).rstrip() for row in cells)


def from_text(text: str, slots: int | None = None) -> NavigationState:
    """A state from a hand-drawn grid. Of more ``slots`` than are drawn, the rest is absent."""
    grid = [line.split() for line in text.strip().splitlines()]
    if any(len(row) != len(grid) for row in grid):
        raise UserError(f"A grid has as many columns as rows; got rows of {[len(row) for row in grid]} cells.")
    agents: dict[int, tuple[int, int]] = {}
    destinations: list[tuple[int, int]] = []
    for (row, column), cell in np.ndenumerate(np.array(grid)):
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
    if needed > slots or len(destinations) != DESTINATIONS:
        raise UserError(
            f"This grid needs {needed} slots and has {len(destinations)} destinations; got {slots} slots, and there "
            f"are always {DESTINATIONS} destinations."
        )
    position = np.array([agents.get(slot, (0, 0)) for slot in range(slots)], np.int32)
    present = np.isin(np.arange(slots), list(agents))
    return NavigationState(*map(jnp.asarray, (present, position, np.array(destinations, np.int32))))


def to_rgb(state: NavigationState, size: int, pixels: int = 40) -> UInt8[np.ndarray, "height width 3"]:
    """The grid as a picture, ``pixels`` a cell: destinations are targets, agents are discs, the learner has a crown."""
    unit = pixels * FINER
    image, pen = ruled_paper(size, unit)

    def centre(row: int, column: int) -> tuple[float, float]:
        return (column + 0.5) * unit + FINER / 2, (row + 0.5) * unit + FINER / 2

    for cell in np.asarray(state.destination).tolist():
        draw_target(pen, *centre(*cell), 0.48 * unit)
    for cell, slots in standing(state).items():
        x, y = centre(*cell)
        for number, slot in enumerate(slots):
            right, down, radius = ring(number, len(slots))
            draw_agent(pen, x + right * unit, y + down * unit, 0.85 * radius * unit, slot)
    return np.array(image.reduce(FINER))


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
