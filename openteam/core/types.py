"""The values that flow between world, team, learner and driver.

Axis vocabulary, used in every signature of the package: ``envs time slots feat shared actions rank members
foods rows``. Slot 0 is always the one who looks: the learner in its own observations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


@dataclass(frozen=True)
class Spec:
    """What a model must know of a task.

    ``max_agents``, the largest team of the task and its splits, is there for methods with inputs of fixed size only;
    None where nobody said. Everything else that is learned works in teams of any size.
    """

    agent_features: int
    shared_features: int
    actions: int
    time_limit_terminates: bool = True
    max_agents: int | None = None


class Observation(eqx.Module):
    """What one agent sees. Row 0 of ``agents`` is the viewer itself."""

    agents: Float[Array, "*batch slots feat"]  # x of the paper, one row per slot
    shared: Float[Array, "*batch shared"]  # u of the paper
    visible: Bool[Array, "*batch slots"]  # rows of absent or unseen agents are False
    legal: Bool[Array, "*batch actions"]  # the viewer's actions that have an effect


class View(eqx.Module):
    """All that an agent may know when it decides, besides its memory.

    Two worlds that differ only in what is hidden give equal views, so nothing here tells of arrivals out of sight.
    """

    obs: Observation
    starts: Bool[Array, "*batch"]  # the viewer's first observation of an episode: nothing is remembered
    new: Bool[Array, "*batch slots"]  # somebody is visible here who is not whom the viewer last saw here
    previous_action: Int[Array, "*batch"]  # the viewer's own, NO_ACTION at the start

    @property
    def fresh(self) -> Bool[Array, "*batch slots"]:
        """Slots of which nothing may be remembered."""
        return self.starts[..., None] | self.new


NO_ACTION = -1


def first_view(obs: Observation) -> View:
    """The view of an agent whose episode begins with this observation."""
    batch = obs.visible.shape[:-1]
    return View(obs, jnp.ones(batch, bool), obs.visible, jnp.full(batch, NO_ACTION, jnp.int32))


class TimeStep(eqx.Module):
    """What the learner receives after a transition.

    ``reward``, ``discount`` and ``ends`` belong to the transition that led here. If it ended an episode, ``view``
    already opens the next one and ``final_view`` is the true successor; otherwise both are equal.
    """

    view: View
    reward: Float[Array, "*batch"]
    discount: Float[Array, "*batch"]  # 0 only where the task truly terminated, not at a mere time limit
    ends: Bool[Array, "*batch"]  # the transition closed an episode
    final_view: View


class Truth(eqx.Module):
    """What losses and metrics may read, and a decision never."""

    actions: Int[Array, "*batch slots"]  # the joint action, as chosen
    exists: Bool[Array, "*batch slots"]
    type_ids: Int[Array, "*batch slots"]  # index into the pool's members; meaningless for slot 0
    rewards: Float[Array, "*batch slots"]  # everybody's reward
    agents: Float[Array, "*batch slots feat"]  # the full state, whatever the view hides
    shared: Float[Array, "*batch shared"]


class Chunk(eqx.Module):
    """A time-major piece of experience of T steps, shape ``[time, envs, ...]``.

    ``memory[t]`` is the learner's memory after it saw ``timesteps[t]``; ``before`` is its memory before the first.
    """

    sequence: TimeStep  # T + 1 entries: each action leads from one to the next
    actions: Int[Array, "time envs"]
    truth: Truth
    before: Any
    memory: Any

    @property
    def timesteps(self) -> TimeStep:
        """Where each action was chosen."""
        return jax.tree.map(lambda leaf: leaf[:-1], self.sequence)

    @property
    def next_timesteps(self) -> TimeStep:
        """Where each action led."""
        return jax.tree.map(lambda leaf: leaf[1:], self.sequence)


def over_chunk(function: Any, *common: Any) -> Any:
    """Apply what is written for one step of one environment to ``[time, envs, ...]``, first arguments in common."""
    return jax.vmap(jax.vmap(partial(function, *common)))
