"""Acting at random: the baseline of every comparison."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Int, Key

from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.types import View
from openteam.teammates.pool import AbstractFamily


class UniformRandom(AbstractMemoryless):
    """Every action is equally likely, even one that has no effect."""

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        action = jax.random.randint(key, (), 0, view.obs.legal.shape[0])
        return Decision(action, memory, Explanation())


class Uniform(AbstractFamily):
    """A family with one type, which acts at random."""

    names: tuple[str, ...] = eqx.field(static=True, default=("uniform",))
    sentences: tuple[str, ...] = eqx.field(static=True, default=("Takes any action, whether it has an effect or not.",))

    def member(self, index: Int[Array, ""]) -> UniformRandom:
        del index
        return UniformRandom()
