"""What partial views share."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int

from openteam.core.view import AbstractView
from openteam.core.world import AbstractWorld, GridWorld
from openteam.errors import UserError


def as_grid_world(view: AbstractView, world: AbstractWorld[Any]) -> GridWorld:
    """The world as one on a grid; a ``UserError`` if it is none."""
    if not isinstance(world, GridWorld):
        raise UserError(
            f"A {type(view).__name__} needs a world on a grid; {type(world).__name__} has no size, positions, relocate "
            "and hide. Use FullView or add them."
        )
    return world


def all_cells(size: int) -> Int[Array, "size size 2"]:
    """The (row, column) of every cell."""
    return jnp.stack(jnp.meshgrid(jnp.arange(size), jnp.arange(size), indexing="ij"), -1)
