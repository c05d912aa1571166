"""Where destinations appear."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.worlds.navigation.state import HIDDEN
from openteam.worlds.placing import draw_cell, occupied


def draw_destinations(
    uniform: Float[Array, "2"],
    position: Int[Array, "slots 2"],
    present: Bool[Array, "slots"],
    kept: Int[Array, "kept 2"],
    size: int,
    apart: int,
) -> Int[Array, "2 2"]:
    """Two cells off the border and off agents, with rows or columns at least ``apart`` from each other and ``kept``."""
    cells = jnp.arange(size)
    inner = (cells >= 1) & (cells < size - 1)
    allowed = inner[:, None] & inner[None, :] & ~occupied(position, present, size)
    if len(kept):
        allowed = allowed & ~(around(kept, size, apart) & (kept[:, 0] != HIDDEN)[:, None, None]).any(0)
    first = draw_cell(uniform[0], allowed)
    return jnp.stack([first, draw_cell(uniform[1], allowed & ~around(first, size, apart))])


def around(cell: Int[Array, "*n 2"], size: int, apart: int) -> Bool[Array, "*n size size"]:
    """The cells with row and column both less than ``apart`` away."""
    near = jnp.abs(jnp.arange(size) - cell[..., None]) < apart
    return near[..., 0, :, None] & near[..., 1, None, :]


def row_major(cells: Int[Array, "n 2"], places: int, size: int) -> Int[Array, "places 2"]:
    """The first of these cells in row-major order, hidden ones last; hidden ones fill up what is left."""
    order = jnp.where(cells[:, 0] == HIDDEN, size**2, cells[:, 0] * size + cells[:, 1]) * len(cells)
    order = order + jnp.arange(len(cells))
    rank = (order[None, :] < order[:, None]).sum(1)
    chosen = rank[None, :] == jnp.arange(places)[:, None]
    return jnp.where(chosen.any(1)[:, None], jnp.where(chosen[..., None], cells[None], 0).sum(1), HIDDEN)
