"""What an agent believes, in the terms of its world: for metrics and for people, never for decisions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Observation


class Belief(eqx.Module):
    """Weighted hypotheses of who exists, what everybody does next, and what the state is; None where none is held."""

    weight: Float[Array, "*batch samples"]  # sums to 1
    exists: Float[Array, "*batch samples slots"]  # probabilities, or 0 and 1
    actions: Float[Array, "*batch samples slots actions"] | None  # probabilities
    agents: Float[Array, "*batch samples slots feat"] | None  # features of those who exist
    shared: Float[Array, "*batch samples shared"] | None


class AbstractBeliever(AbstractPolicy):
    """A policy that can tell what it believes."""

    @abstractmethod
    def reveal(
        self, key: Key[Array, ""], memory: PyTree[Any], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], PyTree[Any], Belief]:
        """What ``act`` does with the same arguments, and what is believed as it does so."""

    def having_done(self, memory: PyTree[Any], action: Int[Array, ""]) -> PyTree[Any]:
        """The memory as it were had the policy just done this instead; the same if it does not remember actions."""
        del action
        return memory

    def act(
        self, key: Key[Array, ""], memory: PyTree[Any], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], PyTree[Any]]:
        action, memory, _ = self.reveal(key, memory, obs, fresh)
        return action, memory
