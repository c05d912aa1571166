"""Worlds as shapes that the page draws, and places of the page as places of a world.

A scene is a ground and things on it, all in units of the ground: cells of a grid, or lengths of an arena. Agents are
told apart from things because a page can select, remove and move them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from openteam.core.world import Drawable, GridWorld, Markable
from openteam.errors import UserError
from openteam.viewer.png import data_address
from openteam.worlds.fortattack import FortAttack
from openteam.worlds.fortattack.state import FortState, is_guard
from openteam.worlds.lbf import Foraging
from openteam.worlds.lbf.state import ForagingState
from openteam.worlds.navigation import Navigation
from openteam.worlds.navigation.draw import destinations_of
from openteam.worlds.navigation.state import NavigationState
from openteam.worlds.wolfpack import Wolfpack
from openteam.worlds.wolfpack.state import WolfpackState

Scene = dict[str, Any]
LEARNER, TEAMMATE, GUARD, ATTACKER = "learner", "teammate", "guard", "attacker"


def ground_of(world: Any) -> Scene:
    """What never changes: the kind of ground, its width and height. An arena has a margin for those at its walls."""
    if type(world) in SCENES and isinstance(world, GridWorld):
        return {"kind": "grid", "width": world.size, "height": world.size}
    if isinstance(world, FortAttack):
        arena, margin = world.arena, world.movement.radius
        return {
            "kind": "arena", "width": 2 * (arena.half_width + margin), "height": 2 * (arena.half_height + margin),
            "margin": margin, "fort": arena.fort_radius, "muzzle": world.shooting.muzzle, "depth": world.shooting.depth,
            "half_angle": world.shooting.half_angle,
        }  # fmt: skip
    if isinstance(world, Drawable):
        return {"kind": "picture", "width": 1, "height": 1}
    raise UserError(f"{type(world).__name__} cannot draw itself: give it methods rgb(state) and text(state).")


def scene_of(world: Any, state: Any) -> Scene:
    """Things and agents of a state, with the middle of each in units of the ground, from its upper left corner."""
    return SCENES.get(type(world), picture)(world, state)


def roles_of(world: Any, slots: int) -> list[str]:
    """What whoever is in a slot is to the learner."""
    if isinstance(world, FortAttack):
        return [LEARNER, *(GUARD if guard else ATTACKER for guard in is_guard(slots)[1:])]
    return [LEARNER, *[TEAMMATE] * (slots - 1)]


def foraging(world: Foraging, state: ForagingState) -> Scene:
    """Apples with their levels, and agents with theirs."""
    levels = np.asarray(state.food_level).tolist()
    foods = [
        {"kind": "apple", "at": middle(cell), "text": str(level)}
        for cell, level in zip(np.asarray(state.food_position).tolist(), levels, strict=True)
        if level > 0
    ]
    return {"things": foods, "agents": on_grid(state, [str(level) for level in np.asarray(state.level).tolist()])}


def wolfpack(world: Wolfpack, state: WolfpackState) -> Scene:
    """Prey, with where they look, and hunters."""
    prey = [
        {"kind": "prey", "at": middle(cell), "turn": int(facing) * math.pi / 2, "caught": bool(caught)}
        for cell, facing, caught in zip(
            np.asarray(state.prey_position).tolist(), state.facing, state.captured, strict=True
        )
    ]
    return {"things": prey, "agents": on_grid(state)}


def navigation(world: Navigation, state: NavigationState) -> Scene:
    """Destinations and agents."""
    return {
        "things": [{"kind": "target", "at": middle(cell)} for cell in destinations_of(state)],
        "agents": on_grid(state),
    }


def fortattack(world: FortAttack, state: FortState) -> Scene:
    """Shots of the last step, those who fell, guards and attackers."""
    arena, present, margin = world.arena, np.asarray(state.present), world.movement.radius
    position, angle = np.asarray(state.position, float), np.asarray(state.angle, float)
    fired_from = position - world.movement.tick * np.asarray(state.velocity, float)
    roles = roles_of(world, len(present))

    def at(place: np.ndarray) -> list[float]:
        east, south = place[0] + arena.half_width, arena.half_height - place[1]
        return [round(float(east + margin), 4), round(float(south + margin), 4)]

    things: list[Scene] = [
        {"kind": "shot", "at": at(fired_from[slot]), "turn": -round(float(angle[slot]), 4), "role": roles[slot]}
        for slot in np.flatnonzero(np.asarray(state.shot))
    ]
    fallen = np.flatnonzero(~present & (np.asarray(state.out_for) > 0))
    things += [{"kind": "fallen", "at": at(position[slot]), "role": roles[slot]} for slot in fallen]
    agents = [
        {
            "slot": int(slot), "at": at(position[slot]), "radius": world.movement.radius, "role": roles[slot],
            "turn": -round(float(angle[slot]), 4),
        }
        for slot in np.flatnonzero(present)
    ]  # fmt: skip
    return {"things": things, "agents": agents}


def picture(world: Any, state: Any) -> Scene:
    """A world's own picture, and where it shows agents if it can tell."""
    shown = np.asarray(world.rgb(state))
    high, wide = np.divide(shown.shape[:2], max(shown.shape[:2])).tolist()  # the longer side is the ground's
    marks = world.markers(state) if isinstance(world, Markable) else []
    agents = [
        {
            "slot": mark.slot, "at": [mark.x * wide, mark.y * high], "radius": mark.radius * wide,
            "colour": mark.colour, "role": LEARNER if mark.slot == 0 else TEAMMATE,
        }
        for mark in marks
    ]  # fmt: skip
    return {"picture": data_address(shown), "things": [], "agents": agents}


SCENES: dict[type, Callable[[Any, Any], Scene]] = {
    Foraging: foraging,
    Wolfpack: wolfpack,
    Navigation: navigation,
    FortAttack: fortattack,
}


def on_grid(state: Any, texts: list[str] | None = None) -> list[Scene]:
    """Agents in the middle of their cells."""
    return [
        {"slot": slot, "at": middle(cell), "radius": 0.36, "role": LEARNER if slot == 0 else TEAMMATE}
        | ({"text": texts[slot]} if texts else {})
        for slot, cell in enumerate(np.asarray(state.position).tolist())
        if state.present[slot]
    ]


def middle(cell: Sequence[int]) -> list[float]:
    """The middle of a cell (row, column) as x and y."""
    return [cell[1] + 0.5, cell[0] + 0.5]


def place_of(world: Any, state: Any, x: float, y: float, gone: Collection[int] = ()) -> tuple[float, float]:
    """The position, as the world's state has it, of a place of the ground. Raises if nobody can stand there.

    Agents that are ``gone`` from where they are in this state are not in the way.
    """
    if isinstance(world, FortAttack):
        margin = world.movement.radius
        east, north = x - margin - world.arena.half_width, world.arena.half_height - (y - margin)
        if abs(east) > world.arena.half_width or abs(north) > world.arena.half_height:
            raise UserError("That place is outside the arena. Choose one inside the walls.")
        return east, north
    if not (type(world) in SCENES and isinstance(world, GridWorld)):
        raise UserError(f"Nobody can be put into a {type(world).__name__} by hand. Agents can be removed.")
    row, column = math.floor(y), math.floor(x)
    if not (0 <= row < world.size and 0 <= column < world.size):
        raise UserError(f"Row {row}, column {column} is not on the {world.size} by {world.size} grid.")
    scene = scene_of(world, state)
    solid = [thing for thing in scene["things"] if thing["kind"] != "target"]
    solid += [agent for agent in scene["agents"] if agent["slot"] not in gone]
    if any(thing["at"] == middle([row, column]) for thing in solid):
        raise UserError("That cell is taken. Choose a free one.")
    return float(row), float(column)
