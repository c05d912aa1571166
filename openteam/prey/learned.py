"""Prey that learned to evade. Their policies were trained in the world ``Evasion`` and are shipped."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Observation
from openteam.errors import UserError
from openteam.prey.sight import prey_observations
from openteam.teammates.learned import Learned
from openteam.worlds.wolfpack.prey import AbstractPrey
from openteam.worlds.wolfpack.state import WolfpackState


class LearnedPrey(AbstractPrey):
    """Every prey follows a policy network of its own, without memory."""

    weights: str = eqx.field(static=True, default="evasion")
    """A file as of Learned."""
    names: tuple[str, ...] = eqx.field(static=True, default=("prey-0", "prey-1"))
    """Its members, one a prey."""

    def act(self, key: Key[Array, ""], state: WolfpackState, size: int) -> Int[Array, "prey"]:
        prey = len(state.facing)
        if prey != len(self.names):
            raise UserError(f"{len(self.names)} learned prey are named and the world has {prey}. Name one for each.")
        return act_together(key, Learned(self.weights, self.names).stacked, state, size)


def act_together(key: Key[Array, ""], policies: AbstractPolicy, state: WolfpackState, size: int) -> Int[Array, "prey"]:
    """Everybody's action; the arrays of ``policies`` have a leading axis, one entry a prey."""
    prey = len(state.facing)

    def act(policy: AbstractPolicy, key: Array, obs: Observation) -> Array:
        return policy.act(key, policy.start(prey), obs, jnp.ones(prey, bool))[0]

    return eqx.filter_vmap(act)(policies, jax.random.split(key, prey), prey_observations(state, size))
