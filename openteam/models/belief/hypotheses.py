"""A belief as GPL uses it: a few weighted hypotheses about who is there and what everybody is like."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from openteam.core.memory import Memory
from openteam.core.types import Chunk, Observation, Spec, Truth, View
from openteam.models.belief.particles import WeightTerms

Losses = dict[str, Float[Array, ""]]


class Hypotheses(eqx.Module):
    """Each has a representation of every agent, says how much each agent exists, and what everybody does next."""

    representation: Float[Array, "*batch samples slots size"]
    exists: Float[Array, "*batch samples slots"]  # 0, 1 or a probability
    log_weight: Float[Array, "*batch samples"]  # up to a constant
    logits: Float[Array, "*batch samples slots actions"]  # the agent model's, of everybody's next action
    terms: WeightTerms | None = None  # the parts of ``log_weight``, where it has parts

    @property
    def weight(self) -> Float[Array, "*batch samples"]:
        """How likely each is; nothing learns through it."""
        return jax.nn.softmax(jax.lax.stop_gradient(self.log_weight))


class Decoded(eqx.Module):
    """Mean and spread of a reconstruction: [x_j, flag_j] of every agent, and u."""

    rows: Float[Array, "*batch slots row"]
    rows_spread: Float[Array, "*batch slots row"]
    shared: Float[Array, "*batch shared"]
    shared_spread: Float[Array, "*batch shared"]


class AbstractBelief(eqx.Module):
    """Infers what cannot be seen from views alone (paper, algorithm "Belief Inference").

    Everything is forgotten where an episode starts, and the memory of a slot where another occupant is visible than the
    one last seen there. That somebody came or left out of sight is not noticed.
    """

    @property
    @abstractmethod
    def resamples(self) -> bool:
        """Whether a step begins by replacing some hypotheses by others."""

    @abstractmethod
    def start(self, slots: int) -> Memory[Any, Any]:
        """The memory of somebody who has seen nothing."""

    @abstractmethod
    def step(self, key: Key[Array, ""], memory: Memory[Any, Any], view: View) -> tuple[Hypotheses, Memory[Any, Any]]:
        """What to believe after one more view."""

    @abstractmethod
    def follow(self, key: Key[Array, ""], memory: Memory[Any, Any], view: View) -> Hypotheses:
        """What each hypothesis becomes with one more view of the same episode; nothing is resampled."""

    @abstractmethod
    def recorded_hypotheses(self, key: Key[Array, ""], chunk: Chunk) -> tuple[Hypotheses, Losses]:
        """The hypotheses of recorded steps, ready to be differentiated, and the losses that shape them.

        ``chunk.before`` and ``chunk.memory`` are this belief's. Only the losses read ``chunk.truth``.
        """

    @abstractmethod
    def decode(self, hypotheses: Hypotheses) -> Decoded:
        """The state according to each hypothesis; one leading axis ``samples``."""


def preprocess(view: View) -> Observation:
    """B_obs: rows [x_j, whether j is the learner, whether j is seen] and [u, the learner's previous action]."""
    obs = view.obs
    learner = jnp.arange(len(obs.visible)) == 0
    flags = jnp.stack([learner, obs.visible], -1).astype(obs.agents.dtype)
    rows = jnp.concatenate([jnp.where(obs.visible[:, None], obs.agents, 0), flags], -1)
    action = jax.nn.one_hot(view.previous_action, len(obs.legal))  # zeros for NO_ACTION
    return Observation(rows, jnp.concatenate([obs.shared, action]), obs.visible, obs.legal)


def preprocessed(spec: Spec) -> Spec:
    """The sizes of what ``preprocess`` returns."""
    return Spec(spec.agent_features + 2, spec.shared_features + spec.actions, spec.actions)


def observed(seen: Observation) -> tuple[Float[Array, "*batch slots row"], Float[Array, "*batch shared"]]:
    """What a decoder of observations reconstructs: [x_j, whether j is seen], and u."""
    actions = seen.legal.shape[-1]
    rows = jnp.concatenate([seen.agents[..., :-2], seen.agents[..., -1:]], -1)
    return rows, seen.shared[..., : seen.shared.shape[-1] - actions]


def true_state(truth: Truth) -> tuple[Float[Array, "*batch slots row"], Float[Array, "*batch shared"]]:
    """What a decoder of states reconstructs: [x_j, whether j exists], and u."""
    exists = truth.exists[..., None].astype(truth.agents.dtype)
    return jnp.concatenate([truth.agents * exists, exists], -1), truth.shared
