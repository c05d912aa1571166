"""One interface for everybody who acts: scripted, learned, human, and the learner itself."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Int, Key, PyTree

from openteam.core.types import Observation


class AbstractPolicy(eqx.Module):
    """One agent in one environment."""

    @abstractmethod
    def start(self, slots: int) -> PyTree[Any]:
        """The memory of an agent who has seen nothing, in a team of at most ``slots``."""

    @abstractmethod
    def act(
        self, key: Key[Array, ""], memory: PyTree[Any], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], PyTree[Any]]:
        """An action and the next memory.

        ``fresh`` marks the slots whose occupant is new to the viewer, or all of them at the start of an episode:
        whatever ``memory`` holds of them must be ignored.
        """


class AbstractMemoryless(AbstractPolicy):
    """One agent who decides from what it sees now and remembers nothing."""

    def start(self, slots: int) -> tuple[()]:
        del slots
        return ()
