"""Noise in what is seen."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def jitter(uniform: Float[Array, "n 2"], cells: Int[Array, "n 2"], probability: float, size: int) -> Int[Array, "n 2"]:
    """Cells with every coordinate off by one with this probability, in either direction, but never off the grid."""
    up, down = uniform < probability / 2, uniform >= 1 - probability / 2
    return jnp.clip(cells + up.astype(jnp.int32) - down.astype(jnp.int32), 0, size - 1)
