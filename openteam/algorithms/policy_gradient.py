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


def generalised_advantages(
    td_error: Float[Array, "time rows"], decay: Float[Array, "time rows"]
) -> Float[Array, "time rows"]:
    """A_t = delta_t + decay_t A_(t+1), and A = 0 beyond the last step.

    With delta_t = r_t + gamma V(s_(t+1)) - V(s_t) and decay_t = gamma lambda, 0 where an episode ends, this is
    generalised advantage estimation (Schulman et al., 2016, equation 16), and V(s_t) + A_t is the lambda-return.
    """

    def back(following: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, decay = now
        advantage = delta + decay * following
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros(td_error.shape[1]), (td_error, decay), reverse=True)[1]


def n_step_returns(
    reward: Float[Array, "time rows"],
    discount: Float[Array, "time rows"],
    ends: Bool[Array, "time rows"],
    next_value: Float[Array, "time rows"],
) -> Float[Array, "time rows"]:
    """R_t = r_t + discount_t R_(t+1), with V(s_(t+1)) in place of R_(t+1) where an episode or the chunk ends."""

    def back(following: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, discount, ends, value = now
        total = reward + discount * jnp.where(ends, value, following)
        return total, total

    return jax.lax.scan(back, next_value[-1], (reward, discount, ends, next_value), reverse=True)[1]
