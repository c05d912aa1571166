"""The eight scripted types of Level-Based Foraging, H1 to H8, as one parametrised policy.

All of them choose a food, walk to it (rows first) and load. They differ in which food: the nearest, farthest or
heaviest, measured from whom, up to which level, and what they do when no level is low enough. Distances are squared
Euclidean; ties go to the first food in row-major order. Without a target or a useful step they take a random legal
action.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.types import Observation, Spec, View
from openteam.teammates.scripted import AbstractScripts
from openteam.worlds.lbf.state import ACTION_NAMES, LOAD
from openteam.worlds.walking import EAST, NORTH, SOUTH, WEST

NEAREST, FARTHEST, HEAVIEST = range(3)
ITSELF, CENTRE, FAR_AGENT, LEADER = range(4)
ANY_LEVEL, OWN_LEVEL, TEAM_LEVEL, LEADER_LEVEL = range(4)

PARAMETERS: dict[str, tuple[int, int, int, bool]] = {
    "H1": (NEAREST, ITSELF, ANY_LEVEL, False),
    "H2": (NEAREST, CENTRE, ANY_LEVEL, False),
    "H3": (NEAREST, ITSELF, OWN_LEVEL, True),
    "H4": (NEAREST, CENTRE, TEAM_LEVEL, True),
    "H5": (FARTHEST, ITSELF, ANY_LEVEL, False),
    "H6": (HEAVIEST, ITSELF, OWN_LEVEL, False),
    "H7": (FARTHEST, FAR_AGENT, ANY_LEVEL, False),
    "H8": (HEAVIEST, LEADER, LEADER_LEVEL, False),
}

DESCRIPTIONS = {
    "H1": "Goes for the food nearest to itself.",
    "H2": "Goes for the food nearest to the team's centre.",
    "H3": "Goes for the nearest food it can take alone; at random if there is none.",
    "H4": "Goes for the food nearest to the team's centre that the team can take; at random if there is none.",
    "H5": "Goes for the food farthest from itself.",
    "H6": "Goes for the heaviest food it can take alone, else the heaviest.",
    "H7": "Goes for the food farthest from the agent that is farthest from itself.",
    "H8": "Goes for the heaviest food that its leader can take alone, else the heaviest.",
}


class Forager(AbstractMemoryless):
    """One scripted type. Its parameters are arrays, so that the eight types can be stacked."""

    seeks: Int[Array, ""]  # nearest, farthest, heaviest
    origin: Int[
        Array, ""
    ]  # distances are measured from: itself, the team's centre, the agent farthest from it, its leader
    limit: Int[Array, ""]  # the highest level it goes for: any, its own, the team's, its leader's
    strict: Bool[Array, ""]  # with no food within the limit: act at random, instead of dropping the limit
    level_by_cell: bool = eqx.field(static=True, default=False)  # see Foragers

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        obs = view.obs
        u_tie, u_random = jax.random.uniform(key, (2,))
        target, found = self.choose_food(obs, u_tie)
        step, useful = walk_or_load(obs.agents[0, :2], target, obs.legal)
        action = jnp.where(found & useful, step, random_legal(u_random, obs.legal))
        return Decision(action, memory, Explanation())

    def choose_food(self, obs: Observation, uniform: Float[Array, ""]) -> tuple[Float[Array, "2"], Bool[Array, ""]]:
        """The cell of the food that this type goes for, and whether there is one."""
        foods = obs.shared.reshape(-1, 3)
        cell, level = foods[:, :2], foods[:, 2]
        own = obs.agents[0]
        levels = obs.agents[:, 2] * obs.visible
        far = obs.agents[farthest_other(obs, uniform)]
        heaviest = obs.agents[jnp.argmax(levels)]
        leader = jnp.where(levels.max() > own[2], heaviest, far)
        if self.level_by_cell:
            there = (obs.agents[:, :2] == leader[:2]).all(-1) & obs.visible
            leader = obs.agents[jnp.where(there, jnp.arange(len(there)), 0).max()]
        centre = jnp.round((obs.agents[:, :2] * obs.visible[:, None]).sum(0) / obs.visible.sum())
        origin = jnp.stack([own[:2], centre, far[:2], leader[:2]])[self.origin]
        limit = jnp.stack([jnp.asarray(jnp.inf), own[2], levels.sum(), leader[2]])[self.limit]
        distance = ((cell - origin) ** 2).sum(-1)
        cost = jnp.stack([distance, -distance, -level])[self.seeks]
        left = level > 0
        within = left & (level <= limit)
        allowed = jnp.where(within.any() | self.strict, within, left)
        return cell[jnp.argmin(jnp.where(allowed, cost, jnp.inf))], allowed.any()


def farthest_other(obs: Observation, uniform: Float[Array, ""]) -> Int[Array, ""]:
    """The visible agent farthest from the viewer; ties at random. The viewer itself when it is alone."""
    distance = ((obs.agents[:, :2] - obs.agents[0, :2]) ** 2).sum(-1)
    distance = jnp.where(obs.visible, distance, -1)
    return draw_true(uniform, distance == distance.max())


def draw_true(uniform: Float[Array, ""], mask: Bool[Array, "n"]) -> Int[Array, ""]:
    """A uniformly drawn index at which ``mask`` is True."""
    count = jnp.cumsum(mask)
    return jnp.minimum((count <= uniform * count[-1]).sum(), len(mask) - 1)


def random_legal(uniform: Float[Array, ""], legal: Bool[Array, "actions"]) -> Int[Array, ""]:
    """A uniformly drawn legal action."""
    return draw_true(uniform, legal).astype(jnp.int32)


def walk_or_load(
    position: Float[Array, "2"], target: Float[Array, "2"], legal: Bool[Array, "actions"]
) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """Load beside the target, else a legal step towards it, rows first; and whether there is such an action."""
    gap = target - position
    wanted = jnp.stack([jnp.abs(gap).sum() == 1, gap[0] < 0, gap[0] > 0, gap[1] > 0, gap[1] < 0])
    actions = jnp.array([LOAD, NORTH, SOUTH, EAST, WEST])
    possible = wanted & legal[actions]
    return actions[jnp.argmax(possible)], possible.any()


class Foragers(AbstractScripts):
    """The scripted types of Level-Based Foraging, as a family of a pool."""

    kind: ClassVar[str] = "foragers"
    parameters: ClassVar[dict[str, tuple[Any, ...]]] = {**PARAMETERS}
    descriptions: ClassVar[dict[str, str]] = DESCRIPTIONS
    names: tuple[str, ...] = eqx.field(static=True, default=tuple(PARAMETERS))
    """Which of H1 to H8."""
    level_by_cell: bool = eqx.field(static=True, default=False)
    """H8 reads its leader's level off the cell that the leader stands on: the level of the last agent there, as in the
    released code. It differs only where two agents stand on one cell. A type sees itself as the first agent."""

    def reads(self, spec: Spec) -> bool:
        sizes = spec.agent_features, spec.shared_features % 3, spec.actions
        return sizes == (3, 0, len(ACTION_NAMES))

    def member(self, index: Int[Array, ""]) -> Forager:
        seeks, origin, limit, strict = self.select(index)
        return Forager(seeks, origin, limit, strict, self.level_by_cell)
