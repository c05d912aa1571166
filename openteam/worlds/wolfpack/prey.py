"""The policies of prey. Prey belong to the world: they get no rewards."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, PyTree

from openteam.core.checked import AbstractChecked
from openteam.errors import check_in, check_not_negative
from openteam.worlds.wolfpack.state import PREY_ACTION_NAMES, STAY, WolfpackState, displacement, distance, inside

IMPOSSIBLE = 2**30  # more than any threat


class AbstractPrey(AbstractChecked):
    """The policy of all prey of a world."""

    def check(self, prey: int) -> None:
        """Raise a ``UserError`` if this number of prey cannot follow this policy."""

    def start(self) -> PyTree[Any]:
        """What all prey remember before an episode; nothing, unless they have a memory."""
        return ()

    def watch(self, state: WolfpackState, size: int) -> PyTree[Any]:
        """What they remember after they have seen this state, in which ``prey_memory`` is what they did before."""
        del size
        return state.prey_memory

    @abstractmethod
    def act(self, key: Key[Array, ""], state: WolfpackState, size: int) -> Int[Array, "prey"]:
        """One of ``PREY_ACTION_NAMES`` for every prey. ``state.prey_memory`` includes what they see now."""


class RandomPrey(AbstractPrey):
    """Every action is equally likely."""

    def act(self, key: Key[Array, ""], state: WolfpackState, size: int) -> Int[Array, "prey"]:
        del size
        uniform = jax.random.uniform(key, state.facing.shape)
        return jnp.floor(uniform * len(PREY_ACTION_NAMES)).astype(jnp.int32)


class FleeingPrey(AbstractPrey):
    """Stays until hunters are near, then steps to the cell with the least threat; never turns.

    The threat of a hunter halves with every step of distance and adds up over hunters. Ties go to the cell with fewer
    walls beside it, then to the first of up, right, down, left and staying.
    """

    alert: int = eqx.field(static=True, default=2)
    """Hunters farther away than this are ignored. With 2, hunters get about the returns that the released prey give."""

    def __check_init__(self) -> None:
        check_not_negative(self, "alert")

    def act(self, key: Key[Array, ""], state: WolfpackState, size: int) -> Int[Array, "prey"]:
        del key
        return flee(state, hunters_within(state, self.alert) > 0, self.alert, size)


class CautiousPrey(AbstractPrey):
    """Stays until a hunter is beside it, then flees as ``FleeingPrey`` does, more likely if another hunter is near.

    So hunters that chase alone are often beside it, and pay, as with the released code's learned prey. The numbers are
    fitted: captures per episode are within 10 % of those of the released prey (docs/wolfpack.md).
    """

    alone: float = eqx.field(static=True, default=0.5)
    """Probability of fleeing from a single hunter."""
    together: float = eqx.field(static=True, default=0.97)
    """Probability of fleeing when there are several."""
    alert: int = eqx.field(static=True, default=2)
    """Hunters within this distance count, and threaten the cells around."""

    def __check_init__(self) -> None:
        check_in(self, 0.0, 1.0, "alone", "together")
        check_not_negative(self, "alert")

    def act(self, key: Key[Array, ""], state: WolfpackState, size: int) -> Int[Array, "prey"]:
        chance = jnp.where(hunters_within(state, self.alert) >= 2, self.together, self.alone)
        flees = jax.random.uniform(key, state.facing.shape) < chance
        return flee(state, flees & (hunters_within(state, 1) > 0), self.alert, size)


def hunters_within(state: WolfpackState, reach: int) -> Int[Array, "prey"]:
    """How many hunters are at most this far from each prey."""
    return ((distance(state.prey_position[:, None], state.position) <= reach) & state.present).sum(-1)


def flee(state: WolfpackState, flees: Bool[Array, "prey"], alert: int, size: int) -> Int[Array, "prey"]:
    """Step to the cell with the least threat by hunters within ``alert``; who does not flee stays."""
    cell = state.prey_position[:, None] + displacement(jnp.arange(STAY + 1))
    away = distance(cell[:, :, None], state.position)
    noticed = state.present & (away[:, STAY] <= alert)
    threat = jnp.where(noticed[:, None], 4 << (alert + 1 - away), 0).sum(-1)
    walls = ((cell == 0) | (cell == size - 1)).sum(-1)  # at most 2, so less than any threat
    onto_hunter = ((away == 0) & state.present).any(-1)
    onto_prey = (distance(cell[:, :STAY, None], state.prey_position) == 0).any(-1)
    open_to = inside(cell, size) & ~onto_hunter & ~jnp.pad(onto_prey, ((0, 0), (0, 1)))
    best = jnp.argmin(jnp.where(open_to, threat + walls, IMPOSSIBLE), -1).astype(jnp.int32)
    direction = jnp.where(flees, best, STAY)
    return jnp.where(direction < STAY, (direction - state.facing) % 4, STAY)
