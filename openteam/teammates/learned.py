"""Learned types: policy networks that are shipped with the package, all of a world in one file, stacked."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Observation
from openteam.models.policy import NetworkPolicy, draw_action
from openteam.teammates.pool import AbstractFamily
from openteam.teammates.weights_file import Weights, weights_path


class Learned(AbstractFamily):
    """Learned types of one world, as one stacked network."""

    weights: str = eqx.field(static=True)
    """Whose file in openteam/teammates/weights; or the path of a file of your own, ending in .safetensors."""
    names: tuple[str, ...] = eqx.field(static=True)
    """Which of its members; none named means all."""
    sentences: tuple[str, ...] = eqx.field(static=True)
    stacked: NetworkPolicy

    def __init__(self, weights: str, names: tuple[str, ...] = ()):
        file = Weights.read(weights_path(weights))
        self.weights = weights
        self.names = tuple(names) or tuple(member.name for member in file.members)
        places = [file.place(name) for name in self.names]
        self.sentences = tuple(file.members[place].sentence for place in places)
        self.stacked = jax.tree.map(lambda leaf: leaf[jnp.array(places)], file.stacked)

    def member(self, index: Int[Array, ""]) -> OneOf:
        return OneOf(self.stacked, index)


class OneOf(AbstractPolicy):
    """One of some stacked policies, its number known only at run time.

    All of them are computed and one is chosen. Picking one's weights first would copy a whole network per slot and
    environment and turn its matrix products into as many products of single rows: far dearer, up to dozens of members.
    """

    stacked: NetworkPolicy
    index: Int[Array, ""]

    def start(self, slots: int) -> tuple[()]:
        del slots
        return ()

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del fresh
        logits = jax.vmap(lambda policy: policy.logits(obs))(self.stacked)
        return draw_action(key, self.choose(logits), self.choose(self.stacked.temperature)), memory

    def choose(self, rows: Any) -> Any:
        """The chosen member's row."""
        mine = jnp.arange(len(rows)) == self.index
        return jnp.where(mine.reshape(-1, *[1] * (rows.ndim - 1)), rows, 0).sum(0)
