"""The released Wolfpack's open process: departures and arrivals with fixed probabilities."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.order import rank_among
from openteam.core.world import AbstractWorldState
from openteam.errors import UserError


class Bernoulli(AbstractOpenness):
    """In every step there may be a departure and, independently, an arrival, each of one teammate or of two.

    Who leaves is drawn uniformly from those who have been here long enough. Leaving comes before joining. The state is
    how many steps the occupant of every slot has been here.
    """

    cap: int = eqx.field(static=True, default=3)
    """The largest team at any time, learner included."""
    start_with: int = eqx.field(static=True, default=3)
    """Agents at the start of an episode."""
    leave: float = eqx.field(static=True, default=0.05)
    """Probability of a departure in a step."""
    join: float = eqx.field(static=True, default=0.05)
    """Probability of an arrival in a step."""
    two: float = eqx.field(static=True, default=0.3)
    """Probability that two teammates leave, or arrive, instead of one."""
    minimum_age: int = eqx.field(static=True, default=25)
    """A teammate leaves only after more steps than this."""
    min_teammates: int = eqx.field(static=True, default=1)
    """Nobody leaves while there are no more teammates than this."""

    def __check_init__(self) -> None:
        if not 1 <= self.start_with <= self.cap or self.cap < 2:
            raise UserError(
                f"An open team needs a cap of at least 2 and starts with 1 to cap agents; got cap {self.cap} and "
                f"start_with {self.start_with}."
            )
        for name in ("leave", "join", "two"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"'{name}' is a probability between 0 and 1; got {getattr(self, name)}.")
        if self.minimum_age < 0 or not 0 <= self.min_teammates < self.cap:
            raise UserError(
                f"minimum_age must be at least 0 and min_teammates between 0 and cap - 1; got {self.minimum_age} and "
                f"{self.min_teammates}."
            )

    @property
    def slots(self) -> int:
        return self.cap

    def start(self, key: Key[Array, ""]) -> tuple[Int[Array, "slots"], Bool[Array, "slots"]]:
        del key
        return jnp.zeros(self.cap, jnp.int32), jnp.arange(self.cap) < self.start_with

    def step(
        self, key: Key[Array, ""], state: Int[Array, "slots"], world: AbstractWorldState
    ) -> tuple[Int[Array, "slots"], Bool[Array, "slots"], Bool[Array, "slots"]]:
        uniform = jax.random.uniform(key, (4 + self.cap,))
        teammate = jnp.arange(self.cap) > 0
        age = state + 1
        here = world.present & teammate
        departures = jnp.minimum(count(uniform[0], uniform[1], self.leave, self.two), here.sum() - self.min_teammates)
        leaving = rank_among(uniform[4:], here & (age > self.minimum_age)) < departures
        free = teammate & ~(here & ~leaving)
        arrivals = count(uniform[2], uniform[3], self.join, self.two)
        joining = rank_among(jnp.arange(self.cap, dtype=jnp.float32), free) < arrivals
        return jnp.where(joining, 0, age), leaving, joining


def count(u_event: Array, u_two: Array, event: float, two: float) -> Int[Array, ""]:
    """How many leave or arrive: none, one or two."""
    return jnp.where(u_event < event, 1 + (u_two < two).astype(jnp.int32), 0)
