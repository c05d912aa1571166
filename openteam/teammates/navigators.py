"""The four scripted types of Penalized Cooperative Navigation, H1 to H4, as one parametrised policy.

All of them choose a destination and walk to it, rows first. They differ in which one: nearest or farthest, measured
from whom. Distances are squared Euclidean; of equals the first in row-major order counts. Whoever stands on its
destination does not wait there: it takes a random legal action, as does one who sees no destination.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.policy import AbstractMemoryless
from openteam.core.types import Observation
from openteam.teammates.foragers import farthest_other, random_legal
from openteam.teammates.scripted import AbstractScripts
from openteam.worlds.walking import EAST, NORTH, SOUTH, WEST

ITSELF, CENTRE, FAR_AGENT = range(3)

TYPES: dict[str, tuple[bool, int]] = {
    "H1": (False, ITSELF),
    "H2": (True, CENTRE),
    "H3": (False, CENTRE),
    "H4": (True, FAR_AGENT),
}
SENTENCES = {
    "H1": "Goes to the destination nearest to itself.",
    "H2": "Goes to the destination farthest from the team's centre.",
    "H3": "Goes to the destination nearest to the team's centre.",
    "H4": "Goes to the destination farthest from the agent that is farthest from itself.",
}


class Navigator(AbstractMemoryless):
    """One scripted type; its numbers may be known only at run time, so the four can be stacked."""

    farthest: Bool[Array, ""]  # rather than nearest
    origin: Int[Array, ""]  # seen from itself, the team's centre, the agent farthest from it

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del fresh
        u_tie, u_random = jax.random.uniform(key, (2,))
        target, found = self.choose_destination(obs, u_tie)
        step, useful = walk(obs.agents[0], target)
        return jnp.where(found & useful, step, random_legal(u_random, obs.legal)), memory

    def choose_destination(
        self, obs: Observation, uniform: Float[Array, ""]
    ) -> tuple[Float[Array, "2"], Bool[Array, ""]]:
        """The destination this type goes for, and whether it sees any."""
        cells = obs.shared.reshape(2, 2)
        centre = jnp.round((obs.agents * obs.visible[:, None]).sum(0) / obs.visible.sum())
        far = obs.agents[farthest_other(obs, uniform)]
        origin = jnp.where(self.origin == ITSELF, obs.agents[0], jnp.where(self.origin == CENTRE, centre, far))
        distance = ((cells - origin) ** 2).sum(-1)
        seen = cells[:, 0] >= 0
        cost = jnp.where(seen, jnp.where(self.farthest, -distance, distance), jnp.inf)
        return jnp.where(cost[1] < cost[0], cells[1], cells[0]), seen.any()


def walk(position: Float[Array, "2"], target: Float[Array, "2"]) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """A step to the target, rows before columns; and whether there is one to go."""
    down, right = target - position
    vertical, horizontal = jnp.where(down > 0, SOUTH, NORTH), jnp.where(right > 0, EAST, WEST)
    return jnp.where(down != 0, vertical, horizontal), (down != 0) | (right != 0)


class Navigators(AbstractScripts):
    """The scripted types of Penalized Cooperative Navigation."""

    kind: ClassVar[str] = "navigators"
    types: ClassVar[dict[str, tuple[Any, ...]]] = {**TYPES}
    sayings: ClassVar[dict[str, str]] = SENTENCES
    names: tuple[str, ...] = eqx.field(static=True, default=tuple(TYPES))
    """Which of H1 to H4."""

    def member(self, index: Int[Array, ""]) -> Navigator:
        return Navigator(*self.numbers(index))
