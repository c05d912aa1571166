"""Acting at random: the floor of every comparison."""

from __future__ import annotations

import jax
from jaxtyping import Array, Bool, Int, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Observation


class UniformRandom(AbstractPolicy):
    """Every action is equally likely, also one that has no effect."""

    def start(self, slots: int) -> tuple[()]:
        del slots
        return ()

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del fresh
        return jax.random.randint(key, (), 0, obs.legal.shape[0]), memory
