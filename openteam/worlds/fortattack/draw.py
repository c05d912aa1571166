"""FortAttack as text and as a picture."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8

from openteam.core.world import Marker
from openteam.worlds.fortattack.arena import Arena
from openteam.worlds.fortattack.movement import Movement
from openteam.worlds.fortattack.shooting import Shooting
from openteam.worlds.fortattack.state import FortState, is_guard

GROUND, WALL, FORT, FORT_EDGE = "#f6f4ee", "#8d8778", "#c9d8ea", "#6f93bd"
GUARD, ATTACKER, INK, GOLD = "#2f9a57", "#d6453d", "#22304f", "#f2b134"
RING = 1.5  # of the learner, in radii of an agent
MARGIN = 0.05  # of wall around the arena
CELL = 0.1  # of the arena, per character
ARROWS = "→↗↑↖←↙↓↘"

Plane = Float[np.ndarray, "height width"]


def to_text(state: FortState, arena: Arena) -> str:
    """A coarse map, two characters per cell: learner L, guard G or attacker A with its heading; x fallen; F fort."""
    rows, columns = round(2 * arena.half_height / CELL), round(2 * arena.half_width / CELL)
    north, east = np.mgrid[0:rows, 0:columns]
    x, y = (east + 0.5) * CELL - arena.half_width, arena.half_height - (north + 0.5) * CELL
    fort = np.hypot(x - arena.door[0], y - arena.door[1]) < arena.fort_radius
    cells = np.where(fort, "F ", ". ").astype(object)
    present, position, angle = (np.asarray(part) for part in (state.present, state.position, state.angle))
    guard, fallen = is_guard(len(present)), ~present & (np.asarray(state.out_for) > 0)
    for slot in [*np.flatnonzero(fallen), *np.flatnonzero(present)[::-1]]:  # the learner comes last, on top
        row = int(np.clip((arena.half_height - position[slot, 1]) / CELL, 0, rows - 1))
        column = int(np.clip((position[slot, 0] + arena.half_width) / CELL, 0, columns - 1))
        who = "L" if slot == 0 else "G" if guard[slot] else "A"
        arrow = ARROWS[round(float(angle[slot]) / (np.pi / 4)) % 8]
        cells[row, column] = f"{who}{arrow}" if present[slot] else "x "
    return "\n".join("".join(row).rstrip() for row in cells)


def to_rgb(
    state: FortState, arena: Arena, movement: Movement, shooting: Shooting, pixels: int = 220
) -> UInt8[np.ndarray, "height width 3"]:
    """A picture from above, ``pixels`` per unit: fort blue, guards green, attackers red, the learner with a gold ring.

    A triangle is a shot of the last step, drawn from where it was fired; a cross is where an agent fell that is still
    out.
    """
    sheet = blank(arena, pixels)
    present, shot, out = (np.asarray(part) for part in (state.present, state.shot, state.out_for > 0))
    position, velocity = np.asarray(state.position, float), np.asarray(state.velocity, float)
    ahead = np.stack([np.cos(state.angle), np.sin(state.angle)], 1)
    team = [GUARD if guard else ATTACKER for guard in is_guard(len(present))]
    stood = position - movement.tick * velocity
    for slot in np.flatnonzero(shot):
        near = sheet.around(stood[slot], shooting.muzzle + shooting.edge)
        within = near.cover(beyond(near.x + stood[slot, 0], near.y + stood[slot, 1], arena))
        near.paint(near.cover(triangle(near, ahead[slot], shooting)) * within, team[slot], 0.22)
    for slot in np.flatnonzero(out & ~present):
        near = sheet.around(position[slot], 2 * movement.radius)
        near.paint(near.cover(cross(near, movement.radius)), team[slot], 0.5)
    for slot in np.flatnonzero(present)[::-1]:  # the learner comes last, on top
        near = sheet.around(position[slot], 2 * movement.radius)
        draw_agent(near, movement.radius, ahead[slot], team[slot], learner=bool(slot == 0))
        if out[slot]:
            near.paint(near.cover(cross(near, movement.radius)), INK)
    return np.round(sheet.image).astype(np.uint8)


def markers(state: FortState, arena: Arena, movement: Movement) -> list[Marker]:
    """Where the picture shows guards and attackers."""
    width, height = 2 * (arena.half_width + MARGIN), 2 * (arena.half_height + MARGIN)
    team = [GUARD if guard else ATTACKER for guard in is_guard(len(state.present))]
    radius = [RING * movement.radius, *[movement.radius] * (len(team) - 1)]
    return [
        Marker(slot, 0.5 + x / width, 0.5 - y / height, radius[slot] / width, team[slot])
        for slot, (x, y) in enumerate(np.asarray(state.position, float).tolist())
        if state.present[slot]
    ]


class Sheet:
    """Pixels, their coordinates in the arena, and how many there are per unit. Parts of a sheet are views of it."""

    def __init__(self, image: Float[np.ndarray, "height width 3"], x: Plane, y: Plane, pixels: int):
        self.image, self.x, self.y, self.pixels = image, x, y, pixels

    def around(self, centre: np.ndarray, reach: float) -> Sheet:
        """The part of the sheet in a square around a point, which becomes (0, 0)."""
        east, south = self.x[0] - centre[0], centre[1] - self.y[:, 0]
        rows, columns = (np.searchsorted(axis, [-reach, reach]) for axis in (south, east))
        part = np.s_[rows[0] : rows[1], columns[0] : columns[1]]
        return Sheet(self.image[part], self.x[part] - centre[0], self.y[part] - centre[1], self.pixels)

    def cover(self, distance: Plane) -> Plane:
        """How much of each pixel a shape covers, from the signed distance to its edge, negative inside."""
        return np.clip(0.5 - distance * self.pixels, 0.0, 1.0)

    def paint(self, coverage: Plane, colour: str, opacity: float = 1.0) -> None:
        """Blend a colour into the image, in place."""
        self.image += (opacity * coverage)[..., None] * (rgb(colour) - self.image)


def blank(arena: Arena, pixels: int) -> Sheet:
    """The empty arena: walls, ground and fort."""
    height, width = (round(2 * (half + MARGIN) * pixels) for half in (arena.half_height, arena.half_width))
    row, column = np.mgrid[0:height, 0:width] + 0.5
    image = np.broadcast_to(rgb(WALL), (height, width, 3)).copy()
    sheet = Sheet(image, (column - width / 2) / pixels, (height / 2 - row) / pixels, pixels)
    sheet.paint(sheet.cover(beyond(sheet.x, sheet.y, arena)), GROUND)
    fort = sheet.around(np.array(arena.door), 1.2 * arena.fort_radius)
    for radius, colour in ((arena.fort_radius, FORT_EDGE), (arena.fort_radius - 0.012, FORT)):
        fort.paint(fort.cover(np.maximum(disc(fort, radius), fort.y)), colour)  # y is 0 at the wall
    return sheet


def draw_agent(near: Sheet, radius: float, ahead: np.ndarray, colour: str, learner: bool) -> None:
    """A disc in its team's colour with a line along its heading; the learner's has a golden ring."""
    if learner:
        near.paint(near.cover(disc(near, RING * radius)), GOLD)
        near.paint(near.cover(disc(near, 1.18 * radius)), INK)
    near.paint(near.cover(disc(near, radius)), colour)
    near.paint(near.cover(bar(near, np.zeros(2), radius * ahead, 0.2 * radius)), "#ffffff")


def beyond(x: Plane, y: Plane, arena: Arena) -> Plane:
    """Signed distance to the walls, negative inside."""
    return np.maximum(np.abs(x) - arena.half_width, np.abs(y) - arena.half_height)


def disc(near: Sheet, radius: float) -> Plane:
    """Signed distance to the edge of a disc."""
    return np.hypot(near.x, near.y) - radius


def bar(near: Sheet, one: np.ndarray, other: np.ndarray, radius: float) -> Plane:
    """Signed distance to the edge of a line with round ends."""
    along = other - one
    share = np.clip(((near.x - one[0]) * along[0] + (near.y - one[1]) * along[1]) / (along @ along), 0.0, 1.0)
    return np.hypot(near.x - one[0] - share * along[0], near.y - one[1] - share * along[1]) - radius


def cross(near: Sheet, reach: float) -> Plane:
    """Signed distance to the edge of two crossing lines."""
    arms = 0.7 * reach * np.array([[1.0, 1.0], [1.0, -1.0]])
    return np.minimum(*(bar(near, -arm, arm, 0.2 * reach) for arm in arms))


def triangle(near: Sheet, ahead: np.ndarray, shooting: Shooting) -> Plane:
    """Signed distance to the edge of the triangle that a shot from (0, 0) covers."""
    forward = near.x * ahead[0] + near.y * ahead[1] - shooting.muzzle
    aside = np.abs(near.x * ahead[1] - near.y * ahead[0])
    edge = aside * np.cos(shooting.half_angle) - forward * np.sin(shooting.half_angle)
    return np.maximum(edge, forward - shooting.depth)


def rgb(colour: str) -> Float[np.ndarray, "3"]:
    """A colour like #2f9a57 as three numbers from 0 to 255."""
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], float)
