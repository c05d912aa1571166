"""FortAttack's open process: who is hit leaves, and comes back when its time out is over."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.order import rank_among
from openteam.core.parts import Parts
from openteam.core.world import AbstractWorldState
from openteam.errors import UserError


@runtime_checkable
class CountsTimeOut(Protocol):
    """A world's state that says for how many more steps each agent must be away; 0 for one that may be present."""

    out_for: Int[Array, "slots"]


class Casualties(AbstractOpenness):
    """Two teams with the same number of slots, guards first. Only who takes part in an episode is random."""

    team_size: int = eqx.field(static=True, default=3)
    """Slots of each team."""
    guards: int = eqx.field(static=True, default=3)
    """Guards that take part, the learner included; their slots are drawn for every episode."""
    attackers: int = eqx.field(static=True, default=3)
    """Attackers that take part."""
    learner_stays: bool = eqx.field(static=True, default=True)
    """Slot 0 stays when it is hit, because that ends the game. Turn it off to train all slots together."""

    def __check_init__(self) -> None:
        if not (1 <= self.guards <= self.team_size and 0 <= self.attackers <= self.team_size):
            raise UserError(
                f"A team of {self.team_size} slots has 1 to {self.team_size} guards or 0 to {self.team_size} "
                f"attackers; got {self.guards} guards and {self.attackers} attackers."
            )

    @property
    def slots(self) -> int:
        return 2 * self.team_size

    def start(self, key: Key[Array, ""]) -> tuple[Bool[Array, "slots"], Bool[Array, "slots"]]:
        """The process only remembers who takes part; whoever does is present at the start."""
        if self.guards == self.attackers == self.team_size:
            return jnp.ones(self.slots, bool), jnp.ones(self.slots, bool)
        guard = np.arange(self.slots) < self.team_size
        order = jnp.where(np.arange(self.slots) == 0, -1.0, jax.random.uniform(key, (self.slots,)))
        takes_part = (rank_among(order, jnp.asarray(guard)) < self.guards) | (
            rank_among(order, jnp.asarray(~guard)) < self.attackers
        )
        return takes_part, takes_part

    def check_parts(self, parts: Parts) -> None:
        state = jax.eval_shape(parts.world.start, jax.random.key(0), jax.ShapeDtypeStruct((self.slots,), bool))
        if not isinstance(state, CountsTimeOut):
            raise UserError(
                "Casualties needs a world with states that say for how long each agent is out, in a field `out_for`; "
                f"{type(state).__name__} has none. Choose another openness, such as Lifetimes."
            )

    def step(
        self, key: Key[Array, ""], state: Bool[Array, "slots"], world: AbstractWorldState
    ) -> tuple[Bool[Array, "slots"], Bool[Array, "slots"], Bool[Array, "slots"]]:
        del key
        assert isinstance(world, CountsTimeOut)
        may_leave = np.arange(self.slots) >= self.learner_stays
        leaving = world.present & (world.out_for > 0) & may_leave
        joining = state & ~world.present & (world.out_for == 0)
        return state, leaving, joining
