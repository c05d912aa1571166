"""Moves on a grid: one cell north, south, west or east, all agents at once."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

NONE, NORTH, SOUTH, WEST, EAST = range(5)


def inside(position: Int[Array, "slots 2"], size: int) -> Bool[Array, "slots 5"]:
    """Which of the five actions stay on the grid."""
    row, column = position[:, 0], position[:, 1]
    return jnp.stack([row >= 0, row > 0, row < size - 1, column > 0, column < size - 1], 1)


def aim(position: Int[Array, "slots 2"], actions: Int[Array, "slots"], size: int) -> Int[Array, "slots 2"]:
    """The target cells of the chosen actions. A move off the grid counts as none."""
    down = (actions == SOUTH).astype(jnp.int32) - (actions == NORTH)
    right = (actions == EAST).astype(jnp.int32) - (actions == WEST)
    return jnp.clip(position + jnp.stack([down, right], 1), 0, size - 1)


def settle(
    position: Int[Array, "slots 2"], target: Int[Array, "slots 2"], present: Bool[Array, "slots"]
) -> Int[Array, "slots 2"]:
    """Next positions: agents with the same target all stay, and an agent that stays has its own cell as target.

    There is no cascade, so an agent may enter a cell that another failed to leave, and two agents may swap.
    """
    same = (target[:, None] == target[None]).all(-1) & present[None]
    alone = same.sum(1) <= 1
    return jnp.where(alone[:, None], target, position)
