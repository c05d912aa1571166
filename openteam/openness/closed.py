"""Teams that never change."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.world import AbstractWorldState
from openteam.errors import UserError


class Closed(AbstractOpenness):
    """The same agents from the start of an episode to its end."""

    team: int = eqx.field(static=True, default=2)
    """Agents, learner included."""

    def __check_init__(self) -> None:
        if self.team < 1:
            raise UserError(f"A closed team needs at least the learner; got team {self.team}.")

    @property
    def slots(self) -> int:
        return self.team

    def start(self, key: Key[Array, ""]) -> tuple[tuple[()], Bool[Array, "slots"]]:
        del key
        return (), jnp.ones(self.team, bool)

    def step(
        self, key: Key[Array, ""], state: tuple[()], world: AbstractWorldState
    ) -> tuple[tuple[()], Bool[Array, "slots"], Bool[Array, "slots"]]:
        del key, world
        nobody = jnp.zeros(self.team, bool)
        return state, nobody, nobody
