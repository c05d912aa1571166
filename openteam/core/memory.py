"""What a policy remembers, in one shape for all policies."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

Team = TypeVar("Team")
Slots = TypeVar("Slots")


class Memory(eqx.Module, Generic[Team, Slots]):
    """A part about the team as a whole, and a part per slot.

    Every array of ``slots`` has a leading slot axis, so the memory of one agent can be moved to another slot, and the
    team can grow, without knowing which policy the memory belongs to.
    """

    team: Team
    slots: Slots


def permute(memory: Memory[Team, Slots], order: Int[Array, "slots"]) -> Memory[Team, Slots]:
    """Slot i of the result remembers what slot ``order[i]`` did."""
    return Memory(memory.team, jax.tree.map(lambda leaf: leaf[order], memory.slots))


def resize(memory: Memory[Team, Slots], blank: Memory[Any, Slots]) -> Memory[Team, Slots]:
    """The same memory with as many slots as ``blank``, a policy's ``start``: more are blank, fewer drop the last."""

    def fit(leaf: Array, empty: Array) -> Array:
        kept = min(len(leaf), len(empty))
        return jnp.concatenate([leaf[:kept], empty[kept:]])

    return Memory(memory.team, jax.tree.map(fit, memory.slots, blank.slots))
