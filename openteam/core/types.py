"""The values that flow between world, team, learner and driver.

Axis vocabulary, used in every signature of the package: ``envs time slots feat shared actions rank members
foods rows``. Slot 0 is always the one who looks: the learner in its own observations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int


@dataclass(frozen=True)
class Spec:
    """What a model must know of a task.

    ``most_agents``, the largest team of the task and its splits, is there for methods with inputs of fixed size only;
    None where nobody said. Everything else that is learned works in teams of any size.
    """

    agent_features: int
    shared_features: int
    actions: int
    time_limit_terminates: bool = True
    most_agents: int | None = None


class Observation(eqx.Module):
    """What one agent sees. Row 0 of ``agents`` is the viewer itself."""

    agents: Float[Array, "*batch slots feat"]  # x of the paper, one row a slot
    shared: Float[Array, "*batch shared"]  # u of the paper
    visible: Bool[Array, "*batch slots"]  # rows of absent or unseen agents are False
    legal: Bool[Array, "*batch actions"]  # the viewer's actions that have an effect


class TimeStep(eqx.Module):
    """What the learner receives when it arrives at an observation.

    ``reward``, ``discount`` and ``ends`` belong to the transition that led here. When that transition closed an
    episode, ``obs`` already opens the next one and ``final_obs`` is the true successor; otherwise both are equal.
    """

    obs: Observation
    reward: Float[Array, "*batch"]
    discount: Float[Array, "*batch"]  # 0 only where the task truly terminated, not at a mere time limit
    starts: Bool[Array, "*batch"]  # obs opens an episode
    ends: Bool[Array, "*batch"]  # the transition that led here closed one
    joined: Bool[Array, "*batch slots"]  # this slot's occupant is new in final_obs
    final_obs: Observation

    @property
    def fresh(self) -> Bool[Array, "*batch slots"]:
        """Slots of ``obs`` of which nothing may be remembered."""
        return self.starts[..., None] | self.joined


class Truth(eqx.Module):
    """What losses and metrics may read, and a decision never."""

    actions: Int[Array, "*batch slots"]  # the joint action, as chosen
    exists: Bool[Array, "*batch slots"]
    types: Int[Array, "*batch slots"]  # index into the pool's members; meaningless for slot 0
    rewards: Float[Array, "*batch slots"]  # everybody's reward
    agents: Float[Array, "*batch slots feat"]  # the full state, whatever the view hides
    shared: Float[Array, "*batch shared"]


class Chunk(eqx.Module):
    """A time-major piece of experience of T steps, shape ``[time, envs, ...]``.

    ``timesteps`` has T + 1 entries: entry t was acted on, entry t + 1 is where the action led. ``memory[t]`` is the
    learner's memory after it saw ``timesteps[t]``; ``before`` is its memory before the first.
    """

    timesteps: TimeStep
    actions: Int[Array, "time envs"]
    truth: Truth
    before: Any
    memory: Any
