"""The scripted types of Penalized Cooperative Navigation as one parametrised policy.

All of them choose a destination and walk to it, rows first. They differ in which one: the nearest or the farthest,
measured from whom. Distances are squared Euclidean; ties go to the first destination in row-major order. On its
destination none of H1 to H4 waits: it takes a random legal action, as it does when it sees no destination.

Two more do what the released code's two learned types do: one stops beside its destination, one camps on it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.types import Observation, Spec, View
from openteam.teammates.foragers import farthest_other, random_legal
from openteam.teammates.scripted import AbstractScripts
from openteam.worlds.navigation.state import ACTION_NAMES, DESTINATIONS
from openteam.worlds.walking import EAST, NONE, NORTH, SOUTH, WEST

ITSELF, CENTRE, FAR_AGENT = range(3)

PARAMETERS: dict[str, tuple[bool, int, int, float, float]] = {
    "H1": (False, ITSELF, 0, 0.0, 1.0),
    "H2": (True, CENTRE, 0, 0.0, 1.0),
    "H3": (False, CENTRE, 0, 0.0, 1.0),
    "H4": (True, FAR_AGENT, 0, 0.0, 1.0),
    "avoids": (False, ITSELF, 1, 0.0, 0.0),
    "camps": (False, ITSELF, 0, 0.2, 0.6),
}
DESCRIPTIONS = {
    "H1": "Goes to the destination nearest to itself.",
    "H2": "Goes to the destination farthest from the team's centre.",
    "H3": "Goes to the destination nearest to the team's centre.",
    "H4": "Goes to the destination farthest from the agent that is farthest from itself.",
    "avoids": "Waits beside the destination nearest to itself and never steps on it, as the released A2C0.",
    "camps": "Stays on the destination nearest to itself, but often takes a random step, as the released A2C5.",
}


class Navigator(AbstractMemoryless):
    """One scripted type. Its parameters are arrays, so that types can be stacked."""

    farthest: Bool[Array, ""]  # rather than nearest
    origin: Int[Array, ""]  # distances are measured from: itself, the team's centre, the agent farthest from it
    distance: Int[Array, ""]  # it walks up to this many steps from its destination
    wavers: Float[Array, ""]  # probability of a random legal action on its way
    leaves: Float[Array, ""]  # and when it has arrived, where it stays otherwise

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        obs = view.obs
        u_tie, u_random = jax.random.uniform(key, (2,))
        target, found = self.choose_destination(obs, u_tie)
        step, _ = walk(obs.agents[0], target)
        arrived = jnp.abs(target - obs.agents[0]).sum() <= self.distance
        chance = jnp.where(found, jnp.where(arrived, self.leaves, self.wavers), 1.0)
        anything = random_legal(u_random / jnp.where(chance > 0, chance, 1.0), obs.legal)
        action = jnp.where(u_random < chance, anything, jnp.where(arrived, NONE, step))
        return Decision(action, memory, Explanation())

    def choose_destination(
        self, obs: Observation, uniform: Float[Array, ""]
    ) -> tuple[Float[Array, "2"], Bool[Array, ""]]:
        """The destination that this type goes for, and whether it sees any."""
        cells = obs.shared.reshape(DESTINATIONS, 2)
        centre = jnp.round((obs.agents * obs.visible[:, None]).sum(0) / obs.visible.sum())
        far = obs.agents[farthest_other(obs, uniform)]
        origin = jnp.where(self.origin == ITSELF, obs.agents[0], jnp.where(self.origin == CENTRE, centre, far))
        distance = ((cells - origin) ** 2).sum(-1)
        seen = cells[:, 0] >= 0
        cost = jnp.where(seen, jnp.where(self.farthest, -distance, distance), jnp.inf)
        return jnp.where(cost[1] < cost[0], cells[1], cells[0]), seen.any()


def walk(position: Float[Array, "2"], target: Float[Array, "2"]) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """A step towards the target, rows first; and whether it is still away."""
    down, right = target - position
    vertical, horizontal = jnp.where(down > 0, SOUTH, NORTH), jnp.where(right > 0, EAST, WEST)
    return jnp.where(down != 0, vertical, horizontal), (down != 0) | (right != 0)


class Navigators(AbstractScripts):
    """The scripted types of Penalized Cooperative Navigation, as a family of a pool."""

    kind: ClassVar[str] = "navigators"
    parameters: ClassVar[dict[str, tuple[Any, ...]]] = {**PARAMETERS}
    descriptions: ClassVar[dict[str, str]] = DESCRIPTIONS
    names: tuple[str, ...] = eqx.field(static=True, default=("H1", "H2", "H3", "H4"))
    """Which of H1 to H4, ``avoids`` and ``camps``."""

    def reads(self, spec: Spec) -> bool:
        sizes = spec.agent_features, spec.shared_features, spec.actions
        return sizes == (2, 2 * DESTINATIONS, len(ACTION_NAMES))

    def member(self, index: Int[Array, ""]) -> Navigator:
        return Navigator(*self.select(index))
