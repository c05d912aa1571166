"""The teammates' policies: families of stacked members, one of which is drawn for every slot."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.core.checked import AbstractChecked
from openteam.core.fitting import check_acts
from openteam.core.parts import Parts
from openteam.core.policy import AbstractPolicy
from openteam.core.types import Spec, View
from openteam.errors import UserError


class AbstractFamily(AbstractChecked):
    """Members that share one program and differ in numbers.

    Every family of a pool is computed for every slot, so make the types of a world one family, not many.
    """

    names: eqx.AbstractVar[tuple[str, ...]]

    @property
    def size(self) -> int:
        return len(self.names)

    def check(self, spec: Spec) -> None:
        """Raise a ``UserError`` if the members cannot act on what is seen, in full, in such a task: one is tried."""
        check_acts(self.member(jnp.zeros((), jnp.int32)), spec, f"{type(self).__name__} ({', '.join(self.names)})")

    @abstractmethod
    def member(self, index: Int[Array, ""]) -> AbstractPolicy:
        """The member with a number that may be known only at run time."""

    def act(
        self, keys: Key[Array, "slots"], index: Int[Array, "slots"], memory: PyTree[Any], views: View
    ) -> tuple[Int[Array, "slots"], PyTree[Any]]:
        """The actions and memories of all slots, if each had the member ``index`` says; each sees its own view."""

        def act(key: Array, index: Array, memory: Any, view: View) -> Any:
            return self.member(index).act(key, memory, view)

        return jax.vmap(act)(keys, index, memory, views)


class Pool(AbstractChecked):
    """All types a teammate can have, numbered through its families. Every draw is uniform."""

    families: tuple[AbstractFamily, ...]
    teams: int | None = eqx.field(static=True, default=None)
    """Slots form this many teams of equal size, in order, and each draws one type for all its slots. None: every slot
    draws its own."""
    redraw: bool = eqx.field(static=True, default=True)
    """A newcomer draws a type. Else every slot keeps its type until the episode ends."""

    def __check_init__(self) -> None:
        if self.size == 0:
            raise UserError("A pool needs at least one teammate type.")
        if self.teams is not None and self.teams < 1:
            raise UserError(f"A pool draws for at least 1 team; got teams {self.teams}. For a draw per slot say None.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for family in self.families for name in family.names)

    @property
    def size(self) -> int:
        return len(self.names)

    def count_teams(self, slots: int) -> int:
        """The number of types that are drawn for a task with this number of slots."""
        teams = slots if self.teams is None else self.teams
        if slots % teams:
            raise UserError(f"{slots} slots cannot be {teams} teams of equal size. Change the pool's teams.")
        return teams

    def check_parts(self, parts: Parts) -> None:
        self.count_teams(parts.openness.slots)

    def draw(self, key: Key[Array, ""], slots: int) -> Int[Array, "slots"]:
        """A type for every slot."""
        teams = self.count_teams(slots)
        return jnp.repeat(draw_types(jax.random.uniform(key, (teams,)), self.size), slots // teams)

    def renew(
        self, key: Key[Array, ""], type_ids: Int[Array, "slots"], joining: Bool[Array, "slots"]
    ) -> Int[Array, "slots"]:
        """Everybody's type after some slots have changed hands."""
        return jnp.where(joining, self.draw(key, len(type_ids)), type_ids) if self.redraw else type_ids

    def start(self, slots: int) -> PyTree[Any]:
        """Blank memories: one per family and slot."""
        nobody = jnp.zeros((), jnp.int32)
        blank = tuple(family.member(nobody).start(slots) for family in self.families)
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (slots, *leaf.shape)), blank)

    def act(
        self,
        key: Key[Array, ""],
        type_ids: Int[Array, "slots"],
        memory: PyTree[Any],
        views: View,
    ) -> tuple[Int[Array, "slots"], PyTree[Any]]:
        """Everybody's action. ``views`` has one leading row per acting slot."""
        slots = len(type_ids)
        keys = jax.random.split(key, (len(self.families), slots))
        actions, memories, first = jnp.zeros(slots, jnp.int32), [], 0
        for number, family in enumerate(self.families):
            mine = (type_ids >= first) & (type_ids < first + family.size)
            index = jnp.clip(type_ids - first, 0, family.size - 1)
            chosen, remembered = family.act(keys[number], index, memory[number], views)
            actions = jnp.where(mine, chosen, actions)
            memories.append(remembered)
            first += family.size
        return actions, tuple(memories)


def draw_types(uniform: Float[Array, "teams"], size: int) -> Int[Array, "teams"]:
    """Type numbers, uniform over all of them."""
    return jnp.minimum(jnp.floor(uniform * size).astype(jnp.int32), size - 1)
