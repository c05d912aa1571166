"""Teammates that always take the same action."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.types import View
from openteam.errors import UserError
from openteam.teammates.pool import AbstractFamily

ACTIONS: dict[str, int] = {"always-0": 0, "always-1": 1}


class ConstantPolicy(AbstractMemoryless):
    """Always the same action."""

    action: Int[Array, ""]

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        del key, view
        return Decision(self.action, memory, Explanation())


class ConstantPolicies(AbstractFamily):
    """The types of the probes: one for each action."""

    names: tuple[str, ...] = eqx.field(static=True, default=tuple(ACTIONS))
    """Which of always-0 and always-1."""

    def __check_init__(self) -> None:
        unknown = [name for name in self.names if name not in ACTIONS]
        if unknown or not self.names:
            raise UserError(f"Constant policies are {', '.join(ACTIONS)}; got {', '.join(self.names) or 'none'}.")

    def member(self, index: Int[Array, ""]) -> ConstantPolicy:
        return ConstantPolicy(jnp.array([ACTIONS[name] for name in self.names])[index])
