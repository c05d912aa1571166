"""Success and rewards in Penalized Cooperative Navigation."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from openteam.worlds.navigation.state import DESTINATIONS, NavigationState


def arrivals(state: NavigationState) -> Bool[Array, "slots destinations"]:
    """Which agents stand on which destination."""
    same = (state.position[:, None] == state.destination[None]).all(-1)
    return same & state.present[:, None]


def outcome(
    state: NavigationState, penalty: float, count_agents: bool
) -> tuple[Float[Array, "slots"], Bool[Array, ""]]:
    """Everybody's reward, and whether the destinations are reached.

    An agent on a destination gets 1 if both are covered, else minus the penalty, in every step that it waits. With
    ``count_agents`` success means exactly two agents on destinations, even on the same one.
    """
    on = arrivals(state)
    arrived = on.any(1)
    reached = arrived.sum() == DESTINATIONS if count_agents else on.any(0).all()
    return jnp.where(arrived, jnp.where(reached, 1.0, -penalty), 0.0), reached
