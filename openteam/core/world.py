"""The physics of bodies in slots."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.checked import AbstractChecked


class AbstractWorldState(eqx.Module):
    """Any pytree that says which slots are occupied."""

    present: eqx.AbstractVar[Bool[Array, "slots"]]


State = TypeVar("State", bound=AbstractWorldState)


class AbstractWorld(AbstractChecked, Generic[State]):
    """One world, one environment. The number of slots is that of ``present``, never a field.

    A world knows nothing of types, policies, lifetimes or views. All methods are pure and can be compiled. Draw your
    random numbers in one call to ``jax.random.uniform`` where you can: splitting keys costs more than drawing numbers.
    """

    @property
    @abstractmethod
    def actions(self) -> int:
        """How many actions every agent has."""

    @abstractmethod
    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> State:
        """A first state, with bodies in the slots that are present."""

    @abstractmethod
    def step(
        self, key: Key[Array, ""], state: State, actions: Int[Array, "slots"]
    ) -> tuple[State, Float[Array, "slots"], Bool[Array, ""]]:
        """All present agents act at once: next state, everybody's reward, and whether the task is over."""

    @abstractmethod
    def dismiss(self, state: State, leaving: Bool[Array, "slots"]) -> State:
        """Take bodies out."""

    @abstractmethod
    def admit(self, key: Key[Array, ""], state: State, joining: Bool[Array, "slots"]) -> State:
        """Put new bodies in."""

    @abstractmethod
    def legal(self, state: State) -> Bool[Array, "slots actions"]:
        """The actions that would have an effect. At least one is True in every row."""

    @abstractmethod
    def features(self, state: State) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        """The full state: x, one row per slot, and u. Rows of absent slots are placeholders."""

    @abstractmethod
    def check(self, slots: int) -> None:
        """Raise a ``UserError`` if a team of ``slots`` agents does not fit into this world."""


@runtime_checkable
class Drawable(Protocol):
    """A world that can be drawn."""

    def rgb(self, state: Any) -> np.ndarray:
        """A picture, ``[height, width, 3]`` of bytes."""
        ...

    def text(self, state: Any) -> str:
        """The same as text."""
        ...


@dataclass(frozen=True)
class Marker:
    """Where a picture shows an agent, as parts of its width and height, and in which colour."""

    slot: int
    x: float
    y: float
    radius: float  # as a part of the width
    colour: str


@runtime_checkable
class Markable(Protocol):
    """A drawable world that says where its picture shows agents, so that their types and actions can be marked."""

    def markers(self, state: Any) -> list[Marker]:
        """All agents that are present."""
        ...


@runtime_checkable
class GridWorld(Protocol):
    """A world on a square grid that can hide agents and objects of a state: all that a partial view needs.

    Objects are whatever stands on the grid besides agents: food, prey, destinations. The states that these methods
    return are for ``features`` only, never for ``step``.
    """

    @property
    def size(self) -> int:
        """Rows and columns."""
        ...

    def positions(self, state: Any) -> tuple[Int[Array, "slots 2"], Int[Array, "objects 2"]]:
        """The cells, (row, column), of all agents and objects; any cell for one who is absent."""
        ...

    def relocate(self, state: Any, agents: Int[Array, "slots 2"], objects: Int[Array, "objects 2"]) -> Any:
        """The same state with other coordinates."""
        ...

    def hide(self, state: Any, agents: Bool[Array, "slots"], objects: Bool[Array, "objects"]) -> Any:
        """The same state without these agents and objects."""
        ...


@runtime_checkable
class LocatingWorld(Protocol):
    """A world on a square grid with features that say where agents are: all that a picture of a belief needs."""

    @property
    def size(self) -> int:
        """Rows and columns."""
        ...

    def locate(self, agents: Float[Array, "*batch feat"]) -> Float[Array, "*batch 2"]:
        """The (row, column) of agents with these features; decoded features may lie between cells."""
        ...
