"""Fixed places in an input of fixed size, for models that cannot take a team of any size.

Were newcomers to take the first place that is free, the last places would stay empty while a small team trains, and
mean nothing when a larger one comes. So everybody gets a random place on arrival and keeps it while it stays.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from openteam.core.order import rank_among
from openteam.core.random import key
from openteam.core.types import Observation, Spec
from openteam.errors import UserError


class Placed(eqx.Module):
    """Who sits where, and how many steps there were. No two slots share a place; slot 0, the learner, has place 0."""

    place: Int[Array, "*batch slots"]
    steps: UInt32[Array, "*batch"]


class Places(eqx.Module):
    """So many places, the learner's included."""

    count: int = eqx.field(static=True)
    shuffled: bool = eqx.field(static=True, default=True)  # else newcomers sit down at the first free place

    def start(self, slots: int) -> Placed:
        if slots > self.count:
            raise UserError(
                f"This policy has places for {self.count} agents and the team has room for {slots}. Train it with "
                f"--algorithm.places {slots}."
            )
        return Placed(jnp.arange(slots), jnp.zeros((), jnp.uint32))

    def step(self, placed: Placed, obs: Observation, fresh: Bool[Array, "slots"]) -> Placed:
        """Newcomers to free places, everybody else where they are.

        Chance comes out of the number of steps and of what is seen, so an update can repeat what a rollout did.
        """
        arrives, numbers = fresh.at[0].set(False), jnp.arange(self.count)
        held = ~arrives[:, None] & (placed.place[:, None] == numbers)
        chance = jax.random.bits(jax.random.fold_in(key(0), placed.steps + fingerprint(obs)), (self.count,))
        turn = ranks(chance if self.shuffled else numbers.astype(chance.dtype), ~held.any(0))
        ordinal = jnp.cumsum(arrives) - 1
        drawn = ((turn == ordinal[:, None]) * numbers).sum(1)
        return Placed(jnp.where(arrives, drawn, placed.place), placed.steps + 1)

    def arrange(
        self, rows: Float[Array, "slots feat"], place: Int[Array, "slots"], exists: Bool[Array, "slots"], empty: float
    ) -> Float[Array, "places feat"]:
        """Rows at their places, and ``empty`` wherever there is nobody."""
        outside = self.count + jnp.arange(len(place))
        seats = jnp.full((self.count, rows.shape[-1]), empty, rows.dtype)
        return seats.at[jnp.where(exists, place, outside)].set(rows, mode="drop", unique_indices=True)


def check_places(learner: Any) -> None:
    """Raise unless a learner with ``places`` has one for itself."""
    if learner.places is not None and learner.places < 1:
        raise UserError(
            f"{type(learner).__name__}'s places must be at least 1, for the learner itself; got {learner.places}."
        )


def count_places(learner: Any, spec: Spec) -> int:
    """How many places a learner asked for, or else the task's largest team needs."""
    places = spec.most_agents if learner.places is None else learner.places
    if places is None:
        raise UserError(
            f"{type(learner).__name__} must know how many agents there can be: set places, as this task's spec does "
            "not say."
        )
    return places


def ranks(chance: UInt32[Array, "places"], free: Bool[Array, "places"]) -> Int[Array, "places"]:
    """The position of each free place in the order of ``chance``, -1 of the others."""
    return jnp.where(free, rank_among(chance, free), -1)


def fingerprint(obs: Observation) -> UInt32[Array, ""]:
    """A whole number that differs from one environment to the next, the same however it is added up."""
    bits = (jax.lax.bitcast_convert_type(part, jnp.uint32) for part in (obs.agents, obs.shared))
    agents, shared = (part.sum(dtype=jnp.uint32) for part in bits)
    return agents + 3 * shared
