"""The density of a normal distribution."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def normal_log_density(
    x: Float[Array, "*#batch"], mean: Float[Array, "*#batch"], spread: Float[Array, "*#batch"] | float = 1.0
) -> Float[Array, "*#batch"]:
    """log N(x; mean, spread^2), number by number."""
    return -0.5 * ((x - mean) / spread) ** 2 - jnp.log(spread) - 0.5 * jnp.log(2 * jnp.pi)


def normal_divergence(
    mean: Float[Array, "*batch"],
    spread: Float[Array, "*batch"],
    other_mean: Float[Array, "*batch"],
    other_spread: Float[Array, "*batch"],
) -> Float[Array, "*batch"]:
    """KL(N(mean, spread^2) || N(other_mean, other_spread^2)), number by number."""
    ratio = spread / other_spread
    return 0.5 * (ratio**2 + ((mean - other_mean) / other_spread) ** 2 - 1) - jnp.log(ratio)
