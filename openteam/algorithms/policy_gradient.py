"""The equations of actor-critic methods."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def log_probability(logits: Float[Array, "actions"], action: Int[Array, ""]) -> Float[Array, ""]:
    """log softmax(logits)[action]."""
    return jax.nn.log_softmax(logits)[action]


def entropy(logits: Float[Array, "*rows actions"]) -> Float[Array, "*rows"]:
    """- sum_a p(a) log p(a), p = softmax(logits)."""
    return -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1)


def advantages(surprise: Float[Array, "time rows"], decay: Float[Array, "time rows"]) -> Float[Array, "time rows"]:
    """A_t = surprise_t + decay_t A_(t+1): generalised advantage estimation, surprise being the one-step error."""

    def back(following: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        error, keeps = now
        advantage = error + keeps * following
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros(surprise.shape[1]), (surprise, decay), reverse=True)[1]


def n_step_returns(
    reward: Float[Array, "time rows"],
    discount: Float[Array, "time rows"],
    ends: Bool[Array, "time rows"],
    next_value: Float[Array, "time rows"],
) -> Float[Array, "time rows"]:
    """R_t = r_t + discount_t R_(t+1); beyond an episode's last step, and beyond time, R_(t+1) is the next value."""

    def back(following: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, discount, ends, value = now
        total = reward + discount * jnp.where(ends, value, following)
        return total, total

    return jax.lax.scan(back, next_value[-1], (reward, discount, ends, next_value), reverse=True)[1]


def weighted_mean(rows: Float[Array, "*rows"], weight: Float[Array, "*rows"]) -> Float[Array, ""]:
    """Over rows whose weight is 1 rather than 0."""
    return (weight * rows).sum() / jnp.maximum(weight.sum(), 1)


def normalised(rows: Float[Array, "*rows"], weight: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
    """With mean 0 and deviation 1 over rows whose weight is 1."""
    mean = weighted_mean(rows, weight)
    return (rows - mean) / (jnp.sqrt(weighted_mean((rows - mean) ** 2, weight)) + 1e-8)
