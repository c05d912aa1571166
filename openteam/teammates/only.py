"""A family reduced to one of its members, for a team in which everybody is of one type."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PyTree

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Spec, View
from openteam.teammates.pool import AbstractFamily


class Only(AbstractFamily):
    """The member with this number. Numbers are data, so all members of a family are played by one program."""

    family: AbstractFamily
    number: Int[Array, ""]
    names: tuple[str, ...] = eqx.field(static=True, default=("only",))

    def check(self, spec: Spec) -> None:
        self.family.check(spec)

    def member(self, index: Int[Array, ""]) -> AbstractPolicy:
        del index
        return self.family.member(self.number)

    def act(
        self, keys: Key[Array, "slots"], index: Int[Array, "slots"], memory: PyTree[Any], views: View
    ) -> tuple[Int[Array, "slots"], PyTree[Any]]:
        return self.family.act(keys, jnp.full_like(index, self.number), memory, views)
