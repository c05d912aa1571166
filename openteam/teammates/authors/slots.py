"""Acting where the numbers of slots count: the authors' networks read agents in the order of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.types import View


def act_in_slots(
    member_in: Callable[[Int[Array, ""], Int[Array, ""]], AbstractPolicy],
    keys: Key[Array, "slots"],
    index: Int[Array, "slots"],
    memory: Any,
    views: View,
) -> tuple[Int[Array, "slots"], Any]:
    """Everybody's action and memory, by the members that ``member_in`` makes of an index and a slot.

    In a view the rows of slot 0 and of the viewer are swapped. Whoever knows the slot can undo it with the same swap.
    """

    def act(key: Array, index: Array, slot: Array, memory: Any, view: View) -> tuple[Array, Any]:
        return member_in(index, slot).act(key, memory, view)

    return jax.vmap(act)(keys, index, jnp.arange(len(index)), memory, views)
