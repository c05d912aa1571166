"""Who exists, one agent after the other, each given those before it (paper, "Existence and State Inference").

P(e | D) = prod_j P(e_j | e_<j, D_<=j), with a sum of messages from all earlier agents. The learner, slot 0, exists.
"""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.core.checked import AbstractChecked
from openteam.models.layers import MLP, Linear


class ExistenceModel(eqx.Module):
    """Message from k: relu(W [D_k, e_k]); logit of j: MLP(D_j, sum of the messages from all k < j)."""

    message: Linear
    logit: MLP

    def __init__(self, key: Key[Array, ""], size: int, *, width: int):
        k_message, k_logit = jax.random.split(key)
        self.message = Linear(k_message, (size, 1), width)
        self.logit = MLP(k_logit, (size, width), width, 1)

    def logits(self, features: Float[Array, "slots size"], exists: Float[Array, "slots"]) -> Float[Array, "slots"]:
        """Of each agent, with the existence of those before it given."""
        messages = jax.nn.relu(self.message(features, exists[:, None]))
        earlier = jnp.cumsum(messages, 0) - messages
        return self.logit(features, earlier)[:, 0]

    def infer(
        self,
        features: Float[Array, "slots size"],
        visible: Bool[Array, "slots"],
        uniform: Float[Array, "slots"] | None = None,
    ) -> Float[Array, "slots"]:
        """How much each agent exists: 1 if visible, otherwise its probability or, given uniform numbers, a draw of it.

        Nothing learns through the result: what a belief is used for must not change who is believed to exist.
        """
        first, last = self.logit.layers
        to_message = self.message(features, jnp.zeros((len(visible), 1)))
        to_logit = first(features, jnp.zeros((len(visible), first.weights[-1].shape[0])))
        certain = visible.at[0].set(True)

        def step(earlier: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
            of_message, of_logit, sure, number = now
            probability = jax.nn.sigmoid(last(jax.nn.relu(of_logit + earlier @ first.weights[-1]))[0])
            inferred = probability if uniform is None else (number < probability).astype(jnp.float32)
            exists = jnp.where(sure, 1.0, inferred)
            return earlier + jax.nn.relu(of_message + exists * self.message.weights[-1][0]), exists

        numbers = jnp.zeros(len(visible)) if uniform is None else uniform
        no_message = jnp.zeros(first.weights[-1].shape[0])
        return jax.lax.stop_gradient(jax.lax.scan(step, no_message, (to_message, to_logit, certain, numbers))[1])


class AbstractExistenceRule(AbstractChecked):
    """How much an agent counts that may or may not exist."""

    @abstractmethod
    def __call__(
        self,
        key: Key[Array, ""],
        model: ExistenceModel,
        representation: Float[Array, "samples slots size"],
        visible: Bool[Array, "slots"],
    ) -> Float[Array, "samples slots"]:
        """Of every hypothesis; those in sight exist."""


class ExpectedExistence(AbstractExistenceRule):
    """By its probability."""

    def __call__(
        self,
        key: Key[Array, ""],
        model: ExistenceModel,
        representation: Float[Array, "samples slots size"],
        visible: Bool[Array, "slots"],
    ) -> Float[Array, "samples slots"]:
        del key
        return jax.vmap(lambda features: model.infer(features, visible))(representation)


class SampledExistence(AbstractExistenceRule):
    """0 or 1, drawn: the released AE-GPL."""

    def __call__(
        self,
        key: Key[Array, ""],
        model: ExistenceModel,
        representation: Float[Array, "samples slots size"],
        visible: Bool[Array, "slots"],
    ) -> Float[Array, "samples slots"]:
        uniform = jax.random.uniform(key, representation.shape[:2])
        return jax.vmap(lambda features, numbers: model.infer(features, visible, numbers))(representation, uniform)


class AssumedExistence(AbstractExistenceRule):
    """1 in every slot: the paper's equations, and the released VAE-GPL."""

    def __call__(
        self,
        key: Key[Array, ""],
        model: ExistenceModel,
        representation: Float[Array, "samples slots size"],
        visible: Bool[Array, "slots"],
    ) -> Float[Array, "samples slots"]:
        del key, model, visible
        return jnp.ones(representation.shape[:2])


def log_bernoulli(logits: Float[Array, "*batch"], exists: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """log P(e) of flags that are 0 or 1."""
    return exists * jax.nn.log_sigmoid(logits) + (1 - exists) * jax.nn.log_sigmoid(-logits)
