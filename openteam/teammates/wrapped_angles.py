"""FortAttack's types in a world that lets angles grow: they read every angle within [0, 2 pi), as in their training."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision
from openteam.core.types import Spec, View
from openteam.teammates.learned import Learned
from openteam.teammates.pool import AbstractFamily

ANGLE = 2  # which of an agent's features


class WrappedAngles(AbstractFamily):
    """The same types, who see each angle without its full turns.

    Networks that were trained with wrapped angles are helpless with others: with the shipped types a random learner's
    return in ``fortattack-released`` rises from -3 to 5. What a turn does is the same in both worlds.
    """

    family: Learned
    """The types."""
    names: tuple[str, ...] = eqx.field(static=True, init=False)

    def __post_init__(self) -> None:
        self.names = self.family.names

    @property
    def sentences(self) -> tuple[str, ...]:
        return self.family.sentences

    def check(self, spec: Spec) -> None:
        self.family.check(spec)

    def member(self, index: Int[Array, ""]) -> ReadsWrapped:
        return ReadsWrapped(self.family.member(index))


class ReadsWrapped(AbstractPolicy):
    """A policy that sees each angle without its full turns."""

    policy: AbstractPolicy

    def start(self, slots: int) -> Memory[Any, Any]:
        return self.policy.start(slots)

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        agents = view.obs.agents
        agents = agents.at[:, ANGLE].set(jnp.mod(agents[:, ANGLE], 2 * math.pi))
        return self.policy.decide(key, memory, eqx.tree_at(lambda v: v.obs.agents, view, agents))
