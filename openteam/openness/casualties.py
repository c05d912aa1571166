"""Openness through hits: who is hit leaves, and comes back when its time out is over."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.order import rank_among
from openteam.core.world import AbstractWorldState
from openteam.errors import UserError


@runtime_checkable
class CountsTimeOut(Protocol):
    """A world's state that says for how many more steps each agent must be away; 0 for one that need not."""

    out_for: Int[Array, "slots"]


class Casualties(AbstractOpenness):
    """Two teams of equally many slots, guards first. Nothing is left to chance but who takes part in an episode."""

    places: int = eqx.field(static=True, default=3)
    """Slots of each team."""
    guards: int = eqx.field(static=True, default=3)
    """Guards that take part, the learner included; which slots is drawn anew for every episode."""
    attackers: int = eqx.field(static=True, default=3)
    """Attackers that take part."""
    learner_stays: bool = eqx.field(static=True, default=True)
    """Slot 0 stays though it is hit, because the game ends with it. Turn it off to train all slots together."""

    def __check_init__(self) -> None:
        if not (1 <= self.guards <= self.places and 0 <= self.attackers <= self.places):
            raise UserError(
                f"A team of {self.places} places has 1 to {self.places} guards or 0 to {self.places} attackers; got "
                f"{self.guards} guards and {self.attackers} attackers."
            )

    @property
    def slots(self) -> int:
        return 2 * self.places

    def start(self, key: Key[Array, ""]) -> tuple[Bool[Array, "slots"], Bool[Array, "slots"]]:
        """The process only remembers who takes part; whoever does is present at the start."""
        if self.guards == self.attackers == self.places:
            return jnp.ones(self.slots, bool), jnp.ones(self.slots, bool)
        guard = np.arange(self.slots) < self.places
        order = jnp.where(np.arange(self.slots) == 0, -1.0, jax.random.uniform(key, (self.slots,)))
        takes_part = (rank_among(order, jnp.asarray(guard)) < self.guards) | (
            rank_among(order, jnp.asarray(~guard)) < self.attackers
        )
        return takes_part, takes_part

    def step(
        self, key: Key[Array, ""], state: Bool[Array, "slots"], world: AbstractWorldState
    ) -> tuple[Bool[Array, "slots"], Bool[Array, "slots"], Bool[Array, "slots"]]:
        del key
        if not isinstance(world, CountsTimeOut):
            raise UserError(
                "Casualties needs a world whose state says for how long each agent is out, in a field `out_for`; "
                f"{type(world).__name__} has none. Choose another openness, such as Lifetimes."
            )
        may_leave = np.arange(self.slots) >= self.learner_stays
        leaving = world.present & (world.out_for > 0) & may_leave
        joining = state & ~world.present & (world.out_for == 0)
        return state, leaving, joining
