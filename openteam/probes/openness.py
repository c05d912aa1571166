"""An open process without randomness."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.world import AbstractWorldState


class Arrival(AbstractOpenness):
    """The only teammate joins after ``after`` steps and stays."""

    after: int | Int[Array, ""] = 0
    """Steps before it joins; 0 if it is there from the start."""

    @property
    def slots(self) -> int:
        return 2

    def start(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Bool[Array, "slots"]]:
        del key
        wait = jnp.asarray(self.after, jnp.int32)
        return wait, jnp.stack([jnp.ones((), bool), wait == 0])

    def step(
        self, key: Key[Array, ""], state: Int[Array, ""], world: AbstractWorldState
    ) -> tuple[Int[Array, ""], Bool[Array, "slots"], Bool[Array, "slots"]]:
        del key, world
        nobody = jnp.zeros(2, bool)
        return state - 1, nobody, nobody.at[1].set(state == 1)
