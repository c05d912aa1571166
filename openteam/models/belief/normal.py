"""Normal distributions with mean and variance from a network."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from openteam.models.belief.gaussian import normal_log_density
from openteam.models.layers import MLP, Linear

FLOOR = 1e-2  # the smallest variance: without it, the density of what is certain would be infinite


class Normal(eqx.Module):
    """Independent normal distributions of several numbers."""

    mean: Float[Array, "*batch size"]
    variance: Float[Array, "*batch size"]

    def sample(self, noise: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        """A sample made from standard normal noise, so that gradients reach mean and variance."""
        return self.mean + jnp.sqrt(self.variance) * noise

    def log_density(self, x: Float[Array, "*any size"]) -> Float[Array, "*batch"]:
        """log N(x; mean, variance), the sum over all numbers."""
        return normal_log_density(x, self.mean, jnp.sqrt(self.variance)).sum(-1)


class NormalNetwork(eqx.Module):
    """Hidden layers with ReLU, then one linear layer for the mean and one, through softplus, for the variance."""

    trunk: MLP
    mean: Linear
    variance: Linear

    def __init__(self, key: Key[Array, ""], sizes: tuple[int, ...], widths: tuple[int, ...], size: int):
        k_trunk, k_mean, k_variance = jax.random.split(key, 3)
        self.trunk = MLP(k_trunk, sizes, *widths)
        self.mean = Linear(k_mean, widths[-1], size)
        self.variance = Linear(k_variance, widths[-1], size)

    def __call__(self, *inputs: Float[Array, "..."]) -> Normal:
        hidden = jax.nn.relu(self.trunk(*inputs))
        return Normal(self.mean(hidden), jax.nn.softplus(self.variance(hidden)) + FLOOR)
