"""Where destinations appear."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.worlds.placing import draw_cell, occupied


def draw_destinations(
    uniform: Float[Array, "2"], position: Int[Array, "slots 2"], present: Bool[Array, "slots"], size: int, apart: int
) -> Int[Array, "2 2"]:
    """Two cells in row-major order, off the border and off agents, with rows or columns at least ``apart``."""
    cells = jnp.arange(size)
    inner = (cells >= 1) & (cells < size - 1)
    allowed = inner[:, None] & inner[None, :] & ~occupied(position, present, size)
    first = draw_cell(uniform[0], allowed)
    near = jnp.abs(cells - first[:, None]) < apart
    second = draw_cell(uniform[1], allowed & ~(near[0][:, None] & near[1][None, :]))
    swap = (second[0] < first[0]) | ((second[0] == first[0]) & (second[1] < first[1]))
    return jnp.where(swap, jnp.stack([second, first]), jnp.stack([first, second]))
