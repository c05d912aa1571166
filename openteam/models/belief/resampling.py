"""Weighted particles: how good they are, and which of them are kept.

All weights are logarithms and need not be normalised. No gradient passes through the choice of particles.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from openteam.core.checked import AbstractChecked

Particles = TypeVar("Particles")


def systematic(uniform: Float[Array, ""], log_weight: Float[Array, "particles"]) -> Int[Array, "particles"]:
    """Which particles are kept, by evenly spaced positions (u + k) / K with one common shift u.

    Each is chosen as often as its normalised weight times K, rounded up or down; the mean over u is exactly that.
    """
    count = len(log_weight)
    return at_positions((uniform + jnp.arange(count)) / count, log_weight)


def multinomial(uniforms: Float[Array, "particles"], log_weight: Float[Array, "particles"]) -> Int[Array, "particles"]:
    """Which particles are kept, by independent draws."""
    return at_positions(uniforms, log_weight)


class AbstractResampling(AbstractChecked):
    """A way to draw particles with replacement, in proportion to their weights."""

    @abstractmethod
    def __call__(
        self, uniforms: Float[Array, "particles"], log_weight: Float[Array, "particles"]
    ) -> Int[Array, "particles"]:
        """Which particles are kept, given numbers in [0, 1)."""


class Multinomial(AbstractResampling):
    """Independent draws: the paper."""

    def __call__(
        self, uniforms: Float[Array, "particles"], log_weight: Float[Array, "particles"]
    ) -> Int[Array, "particles"]:
        return multinomial(uniforms, log_weight)


class Systematic(AbstractResampling):
    """Evenly spaced draws, shifted by the first number: the released code."""

    def __call__(
        self, uniforms: Float[Array, "particles"], log_weight: Float[Array, "particles"]
    ) -> Int[Array, "particles"]:
        return systematic(uniforms[0], log_weight)


def at_positions(
    positions: Float[Array, "positions"], log_weight: Float[Array, "particles"]
) -> Int[Array, "positions"]:
    """The particles that lie at these positions in [0, 1), when each is as wide as its weight.

    Every position is compared with every particle. For a few dozen that is faster than a search, and without a sort.
    """
    reach = jnp.cumsum(jax.nn.softmax(jax.lax.stop_gradient(log_weight)))
    below_one = 1 - jnp.finfo(reach.dtype).epsneg  # where rounding takes a position to 1 the last particle is meant
    return (reach / reach[-1] <= jnp.minimum(positions, below_one)[:, None]).sum(-1)


def gather(particles: Particles, indices: Int[Array, "particles"]) -> Particles:
    """Everything about the chosen particles."""
    return jax.tree.map(lambda leaf: leaf[indices], particles)


def log_mean_exp(log_weight: Float[Array, "particles"]) -> Float[Array, ""]:
    """log((1 / K) sum_k w_k)."""
    return jax.nn.logsumexp(log_weight) - jnp.log(len(log_weight))


def effective_sample_size(log_weight: Float[Array, "particles"]) -> Float[Array, ""]:
    """(sum_k w_k)^2 / sum_k w_k^2: from 1, one particle has all the weight, to K, all have the same."""
    return jnp.exp(2 * jax.nn.logsumexp(log_weight) - jax.nn.logsumexp(2 * log_weight))
