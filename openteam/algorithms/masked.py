"""Statistics over some of the numbers: those of agents who were there."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def masked_mean(numbers: Float[Array, "*batch"], mask: Bool[Array, "*batch"]) -> Float[Array, ""]:
    """The mean where the mask is set, whatever stands elsewhere; 0 if it is set nowhere."""
    return jnp.where(mask, numbers, 0).sum() / jnp.maximum(mask.sum(), 1)


def normalised(numbers: Float[Array, "*batch"], mask: Bool[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Shifted and scaled to mean 0 and standard deviation 1 where the mask is set."""
    mean = masked_mean(numbers, mask)
    return (numbers - mean) / (jnp.sqrt(masked_mean((numbers - mean) ** 2, mask)) + 1e-8)
