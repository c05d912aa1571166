"""The state of FortAttack and its actions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from openteam.core.world import AbstractWorldState

NONE, EAST, WEST, NORTH, SOUTH, TURN_LEFT, TURN_RIGHT, SHOOT = range(8)
ACTION_NAMES = ("none", "east", "west", "north", "south", "turn left", "turn right", "shoot")


class FortState(AbstractWorldState):
    """Positions are (x, y), y pointing north to the fort. An angle counts counter-clockwise from east, in radians."""

    present: Bool[Array, "slots"]
    position: Float[Array, "slots 2"]
    velocity: Float[Array, "slots 2"]
    angle: Float[Array, "slots"]
    shot: Bool[Array, "slots"]  # fired in the last step
    out_for: Int[Array, "slots"]  # steps until an agent that was hit may come back
    clock: Int[Array, ""]  # steps since the start


def is_guard(slots: int) -> Bool[np.ndarray, "slots"]:
    """Roles by slot: the first half guards the fort, the learner with it, the second half attacks."""
    return np.arange(slots) < slots // 2


def gaps(position: Float[Array, "slots 2"]) -> tuple[Float[Array, "slots slots"], Float[Array, "slots slots"]]:
    """How far east and north each agent (column) is of each other one (row)."""
    east, north = position[:, 0], position[:, 1]
    return east[None, :] - east[:, None], north[None, :] - north[:, None]


def length(east: Float[Array, "*n"], north: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The Euclidean length of vectors."""
    return jnp.sqrt(east**2 + north**2)
