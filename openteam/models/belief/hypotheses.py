"""What a belief is to the rest of GPL: a few weighted hypotheses of who is there and what everybody is like."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.core.types import Observation, Spec, Truth

Terms = dict[str, Float[Array, ""]]


class Hypotheses(eqx.Module):
    """Each has a representation of every agent, and says how much each agent exists: 0, 1, or a probability.

    What everybody does next is the agent model's to say.
    """

    representation: Float[Array, "*batch samples slots size"]
    exists: Float[Array, "*batch samples slots"]
    log_weight: Float[Array, "*batch samples"]  # up to a constant
    logits: Float[Array, "*batch samples slots actions"]  # of everybody's next action

    @property
    def weight(self) -> Float[Array, "*batch samples"]:
        """How likely each is; nothing learns through it."""
        return jax.nn.softmax(jax.lax.stop_gradient(self.log_weight))


class Decoded(eqx.Module):
    """The mean and the spread of what is reconstructed: [x_j, flag_j] of every agent, and u."""

    rows: Float[Array, "*batch slots row"]
    rows_spread: Float[Array, "*batch slots row"]
    shared: Float[Array, "*batch shared"]
    shared_spread: Float[Array, "*batch shared"]


class AbstractBelief(eqx.Module):
    """Infers, from observations and own actions alone, what cannot be seen.

    It looks at preprocessed observations (``preprocess``). What it remembers belongs to slots, and is forgotten only
    where an episode starts: that somebody came or left out of sight is nothing it may be told.
    """

    resamples: eqx.AbstractVar[bool]  # a step begins by replacing some hypotheses by others

    @abstractmethod
    def start(self, slots: int) -> PyTree[Any]:
        """The memory of somebody who has seen nothing."""

    @abstractmethod
    def step(
        self, key: Key[Array, ""], memory: PyTree[Any], seen: Observation, starts: Bool[Array, ""]
    ) -> tuple[Hypotheses, PyTree[Any]]:
        """What to believe after one more observation."""

    @abstractmethod
    def follow(self, key: Key[Array, ""], memory: PyTree[Any], seen: Observation) -> Hypotheses:
        """What each hypothesis becomes with one more observation of the same episode; nothing is resampled."""

    @abstractmethod
    def replay(
        self,
        key: Key[Array, ""],
        before: PyTree[Any],
        memory: PyTree[Any],
        seen: Observation,
        starts: Bool[Array, "time envs"],
        truth: Truth,
    ) -> tuple[Hypotheses, Terms]:
        """The hypotheses of steps already taken, ready to be differentiated, and the losses that shape them."""

    @abstractmethod
    def decode(self, hypotheses: Hypotheses) -> Decoded:
        """The state as each hypothesis has it; one leading axis ``samples``."""


def preprocess(obs: Observation, previous: Int[Array, ""]) -> Observation:
    """B_obs: rows [x_j, whether j is the learner, whether j is seen] and [u, own previous action]; -1 is no action."""
    slots = len(obs.visible)
    learner = jnp.arange(slots) == 0
    flags = jnp.stack([learner, obs.visible], -1).astype(obs.agents.dtype)
    rows = jnp.concatenate([jnp.where(obs.visible[:, None], obs.agents, 0), flags], -1)
    actions = obs.legal.shape[-1]
    return Observation(rows, jnp.concatenate([obs.shared, jax.nn.one_hot(previous, actions)]), obs.visible, obs.legal)


def preprocessed(spec: Spec) -> Spec:
    """The sizes of what ``preprocess`` makes."""
    return Spec(spec.agent_features + 2, spec.shared_features + spec.actions, spec.actions)


def observed(seen: Observation) -> tuple[Float[Array, "*batch slots row"], Float[Array, "*batch shared"]]:
    """What a decoder of observations is to find again: [x_j, whether j is seen], and u."""
    actions = seen.legal.shape[-1]
    rows = jnp.concatenate([seen.agents[..., :-2], seen.agents[..., -1:]], -1)
    return rows, seen.shared[..., : seen.shared.shape[-1] - actions]


def true_state(truth: Truth) -> tuple[Float[Array, "*batch slots row"], Float[Array, "*batch shared"]]:
    """What a decoder of states is to find: [x_j, whether j exists], and u."""
    there = truth.exists[..., None].astype(truth.agents.dtype)
    return jnp.concatenate([truth.agents * there, there], -1), truth.shared
