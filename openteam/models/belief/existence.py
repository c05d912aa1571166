"""Who exists: one agent after the other, each in the light of those before it (paper, "Existence and State Inference").

P(e | D) = prod_j P(e_j | e_<j, D_<=j), with a sum of messages from all earlier agents. The learner, slot 0, exists.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.models.layers import MLP, Linear


class Existence(eqx.Module):
    """Message from k: relu(W [D_k, e_k]); logit of j: MLP(D_j, sum of the messages from all k < j)."""

    message: Linear
    logit: MLP

    def __init__(self, key: Key[Array, ""], sizes: int | tuple[int, ...], *, width: int):
        k_message, k_logit = jax.random.split(key)
        sizes = (sizes,) if isinstance(sizes, int) else sizes
        self.message = Linear(k_message, (*sizes, 1), width)
        self.logit = MLP(k_logit, (*sizes, width), width, 1)

    def logits(self, *inputs: Float[Array, "slots _"], exists: Float[Array, "slots"]) -> Float[Array, "slots"]:
        """Of each agent, those before it being as given."""
        messages = jax.nn.relu(self.message(*inputs, exists[:, None]))
        earlier = jnp.cumsum(messages, 0) - messages
        return self.logit(*inputs, earlier)[:, 0]

    def infer(
        self,
        *inputs: Float[Array, "slots _"],
        known: Bool[Array, "slots"],
        uniform: Float[Array, "slots"] | None = None,
    ) -> Float[Array, "slots"]:
        """How much each exists; who is known to exist does.

        With uniform numbers they are drawn, 0 or 1. Without, everybody counts as much as it is likely to exist. Nothing
        learns through the result: what a belief is used for must not bend who is believed to exist.
        """
        first, last = self.logit.layers
        to_message = self.message(*inputs, jnp.zeros((len(known), 1)))
        to_logit = first(*inputs, jnp.zeros((len(known), first.weights[-1].shape[0])))
        known = known.at[0].set(True)

        def step(earlier: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
            of_message, of_logit, sure, number = now
            probability = jax.nn.sigmoid(last(jax.nn.relu(of_logit + earlier @ first.weights[-1]))[0])
            drawn = probability if uniform is None else (number < probability).astype(jnp.float32)
            exists = jnp.where(sure, 1.0, drawn)
            return earlier + jax.nn.relu(of_message + exists * self.message.weights[-1][0]), exists

        numbers = jnp.zeros(len(known)) if uniform is None else uniform
        nothing = jnp.zeros(first.weights[-1].shape[0])
        steps = (to_message, to_logit, known, numbers)
        return jax.lax.stop_gradient(jax.lax.scan(step, nothing, steps)[1])


def log_bernoulli(logits: Float[Array, "*batch"], exists: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """log P(e) of flags that are 0 or 1."""
    return exists * jax.nn.log_sigmoid(logits) + (1 - exists) * jax.nn.log_sigmoid(-logits)
