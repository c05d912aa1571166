"""The state of Level-Based Foraging and its actions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from openteam.core.world import AbstractWorldState

LOAD = 5  # after the five moves of ``walking``
ACTION_NAMES = ("none", "north", "south", "west", "east", "load")

# Change of (row, column) by every action; a numpy array, so that importing this module starts no JAX backend.
MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1], [0, 0]], np.int32)


class ForagingState(AbstractWorldState):
    """Positions are (row, column). Foods are in row-major order; level 0 means eaten."""

    present: Bool[Array, "slots"]
    position: Int[Array, "slots 2"]
    level: Int[Array, "slots"]
    food_position: Int[Array, "foods 2"]
    food_level: Int[Array, "foods"]


def adjacent(a: Int[Array, "*a 2"], b: Int[Array, "*b 2"]) -> Bool[Array, "*ab"]:
    """Whether cells touch along an edge: Manhattan distance 1."""
    return jnp.abs(a - b).sum(-1) == 1
