"""The state of Wolfpack, its actions, and distances."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree

from openteam.core.world import AbstractWorldState

UP, RIGHT, DOWN, LEFT, STAY = range(5)
ACTION_NAMES = ("up", "right", "down", "left", "stay")

# A prey's first four actions are those of a hunter, relative to where it faces.
TURN_LEFT, TURN_RIGHT = 5, 6
PREY_ACTION_NAMES = ("forward", "step right", "back", "step left", "stay", "turn left", "turn right")


class WolfpackState(AbstractWorldState):
    """Positions are (row, column). A prey faces up, right, down or left: 0 to 3."""

    present: Bool[Array, "slots"]
    position: Int[Array, "slots 2"]
    prey_position: Int[Array, "prey 2"]
    facing: Int[Array, "prey"]
    captured: Bool[Array, "prey"]  # in the last step; it stays where it was caught and comes back in the next one
    shown: Bool[Array, "prey"]  # False only in states made by a partial view
    prey_memory: PyTree[Any] = ()  # what the prey remember, if they do


def displacement(direction: Int[Array, "*n"]) -> Int[Array, "*n 2"]:
    """Change of (row, column) by a step up, right, down or left; none for any other number."""
    row = (direction == DOWN).astype(jnp.int32) - (direction == UP)
    column = (direction == RIGHT).astype(jnp.int32) - (direction == LEFT)
    return jnp.stack([row, column], -1)


def inside(position: Int[Array, "*n 2"], size: int) -> Bool[Array, "*n"]:
    """Whether cells are on the grid."""
    row, column = position[..., 0], position[..., 1]
    return (row >= 0) & (row < size) & (column >= 0) & (column < size)


def distance(a: Int[Array, "*a 2"], b: Int[Array, "*b 2"]) -> Int[Array, "*ab"]:
    """Manhattan distance, broadcast over leading axes."""
    return jnp.abs(a[..., 0] - b[..., 0]) + jnp.abs(a[..., 1] - b[..., 1])
