"""Acting at random: the floor of every comparison."""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Int, Key

from openteam.core.policy import AbstractMemoryless
from openteam.core.types import Observation
from openteam.teammates.pool import AbstractFamily


class UniformRandom(AbstractMemoryless):
    """Every action is equally likely, also one that has no effect."""

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del fresh
        return jax.random.randint(key, (), 0, obs.legal.shape[0]), memory


class Uniform(AbstractFamily):
    """A family of one: whoever acts at random."""

    names: tuple[str, ...] = eqx.field(static=True, default=("uniform",))
    sentences: tuple[str, ...] = eqx.field(static=True, default=("Takes any action, whether it has an effect or not.",))

    def member(self, index: Int[Array, ""]) -> UniformRandom:
        del index
        return UniformRandom()
