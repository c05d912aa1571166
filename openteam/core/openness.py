"""Who is here, who leaves, who joins."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from jaxtyping import Array, Bool, Key, PyTree

from openteam.core.checked import AbstractChecked
from openteam.core.world import AbstractWorldState


class AbstractOpenness(AbstractChecked):
    """The open part of the transition function: which slots are occupied. Slot 0, the learner, never leaves."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """The largest team there can be, learner included."""

    @abstractmethod
    def start(self, key: Key[Array, ""]) -> tuple[PyTree[Any], Bool[Array, "slots"]]:
        """The process's first state, and who is present at the start."""

    @abstractmethod
    def step(
        self, key: Key[Array, ""], state: PyTree[Any], world: AbstractWorldState
    ) -> tuple[PyTree[Any], Bool[Array, "slots"], Bool[Array, "slots"]]:
        """Next state, who leaves now, who joins now. A slot may change hands within one step."""
