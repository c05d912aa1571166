"""Teammates who always do the same."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.policy import AbstractMemoryless
from openteam.core.types import Observation
from openteam.errors import UserError
from openteam.teammates.pool import AbstractFamily

TYPES: dict[str, int] = {"always-0": 0, "always-1": 1}


class Stubborn(AbstractMemoryless):
    """One action, whatever happens."""

    action: Int[Array, ""]

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del key, obs, fresh
        return self.action, memory


class Stubborns(AbstractFamily):
    """The scripted types of the probes."""

    names: tuple[str, ...] = eqx.field(static=True, default=tuple(TYPES))
    """Which of always-0 and always-1."""

    def __check_init__(self) -> None:
        unknown = [name for name in self.names if name not in TYPES]
        if unknown or not self.names:
            raise UserError(f"Stubborn teammates are {', '.join(TYPES)}; got {', '.join(self.names) or 'none'}.")

    def member(self, index: Int[Array, ""]) -> Stubborn:
        return Stubborn(jnp.array([TYPES[name] for name in self.names])[index])
