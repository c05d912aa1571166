"""The scripted types of Wolfpack as one parametrised policy.

Four ways to hunt: at random; greedily towards the nearest prey; the same with chance; and aware of teammates, who all
are given cells beside prey. Each of the last three also exists with patience: near a prey with too few others it backs
off and waits. Distances are Manhattan. All numbers that types need are computed once for all of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Observation
from openteam.teammates.scripted import AbstractScripts
from openteam.worlds.wolfpack.path import first_steps
from openteam.worlds.wolfpack.state import DOWN, LEFT, RIGHT, STAY, UP, displacement, distance, inside

RANDOM, GREEDY, PROBABILISTIC, AWARE = range(4)

TYPES: dict[str, tuple[int, bool]] = {
    "random": (RANDOM, False),
    "greedy": (GREEDY, False),
    "greedy-probabilistic": (PROBABILISTIC, False),
    "teammate-aware": (AWARE, False),
    "greedy-waiting": (GREEDY, True),
    "greedy-probabilistic-waiting": (PROBABILISTIC, True),
    "teammate-aware-waiting": (AWARE, True),
}

SENTENCES: dict[str, str] = {
    "random": "Takes any action.",
    "greedy": "Goes to the nearest cell beside a live prey, whoever is in the way, and pushes into it.",
    "greedy-probabilistic": "Wants the same cell as greedy, but sways on its way.",
    "teammate-aware": "Gives every hunter a cell beside a prey and walks to its own around everybody.",
    "greedy-waiting": "As greedy, but backs off from a prey while too few others are near it.",
    "greedy-probabilistic-waiting": "As greedy-probabilistic, but backs off from a prey while too few others are near.",
    "teammate-aware-waiting": "As teammate-aware, but backs off from a prey while too few others are near it.",
}

BESIDE = (LEFT, RIGHT, DOWN, UP)  # the sides of a prey, in the order in which equals count
TEMPERATURE = 2.5
BLOCKED = 5  # how much farther a goal seems beyond the edge of the grid
NEVER = 2**20


class Patience(eqx.Module):
    """What a waiting type draws at its entry."""

    radius: Int[Array, ""]  # what counts as near
    others: Int[Array, ""]  # how many others must be near the prey before it goes on


class Scene(eqx.Module):
    """An observation in whole numbers."""

    hunters: Int[Array, "slots 2"]  # the viewer first
    there: Bool[Array, "slots"]
    prey: Int[Array, "prey 2"]
    live: Bool[Array, "prey"]
    sides: Int[Array, "cells 2"]  # the cells beside prey, four each
    usable: Bool[Array, "cells"]  # on the grid


class Goal(eqx.Module):
    """A cell beside a prey that a hunter wants to stand on."""

    cell: Int[Array, "2"]
    prey: Int[Array, "2"]
    exists: Bool[Array, ""]
    reached: Bool[Array, ""]


class Hunter(AbstractPolicy):
    """One scripted type; its numbers may be known only at run time, so the seven can be stacked."""

    way: Int[Array, ""]  # random, greedy, probabilistic, aware
    waits: Bool[Array, ""]
    size: int = eqx.field(static=True)

    def start(self, slots: int) -> Patience:
        del slots
        return Patience(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def act(
        self, key: Key[Array, ""], memory: Patience, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], Patience]:
        u_action, u_side, u_radius, u_others = jax.random.uniform(key, (4,))
        new = draw_patience(u_radius, u_others)
        memory = jax.tree.map(lambda drawn, old: jnp.where(fresh[0], drawn, old), new, memory)
        scene = look(obs, self.size)
        me = scene.hunters[0]
        target, post = nearest_goal(scene), own_post(scene, self.size)
        steps = self.ways_to(scene, post)

        anything = jnp.floor(u_action * (STAY + 1)).astype(jnp.int32)
        pushes = jnp.where(self.way == AWARE, post.reached, target.reached)
        push = towards(jnp.where(self.way == AWARE, post.prey, target.prey) - me)
        walk = jnp.where(
            self.way == AWARE,
            jnp.argmax(steps).astype(jnp.int32),
            jnp.where(
                self.way == GREEDY, towards(target.cell - me), sway(u_action, u_side, me, target.cell, self.size)
            ),
        )
        lost = jnp.where(self.way == AWARE, ~steps.any(), ~target.exists) | (self.way == RANDOM)
        retreats = self.waits & hesitates(scene, target, memory)
        action = jnp.where(pushes & (self.way != RANDOM), push, jnp.where(lost, anything, walk))
        return jnp.where(retreats, away(me, target.prey, self.size), action), memory

    def ways_to(self, scene: Scene, post: Goal) -> Bool[Array, "4"]:
        """The first steps to the post around everybody, for those who mind."""
        bodies = jnp.concatenate([scene.hunters, scene.prey])
        there = jnp.concatenate([scene.there, jnp.ones_like(scene.live)])
        searches = (self.way == AWARE) & post.exists & ~post.reached
        return first_steps(scene.hunters[0], post.cell, bodies, there, searches, self.size)


def draw_patience(u_radius: Float[Array, ""], u_others: Float[Array, ""]) -> Patience:
    """A radius of 2, 3 or 4 with probabilities 0.4, 0.4 and 0.2; 1 or 2 others with 0.7 and 0.3."""
    radius = 2 + (u_radius >= 0.4).astype(jnp.int32) + (u_radius >= 0.8)
    return Patience(radius, 1 + (u_others >= 0.7).astype(jnp.int32))


def look(obs: Observation, size: int) -> Scene:
    """Read an observation. A prey with two hunters beside was captured, so it is about to be elsewhere."""
    count = obs.shared.shape[0] // 6
    hunters, prey = obs.agents.astype(jnp.int32), obs.shared[: 2 * count].reshape(count, 2).astype(jnp.int32)
    beside = (distance(hunters[:, None], prey[None]) == 1) & obs.visible[:, None]
    sides = (prey[:, None] + displacement(jnp.array(BESIDE))).reshape(-1, 2)
    return Scene(hunters, obs.visible, prey, beside.sum(0) < 2, sides, inside(sides, size))


def nearest_goal(scene: Scene) -> Goal:
    """The nearest cell beside a live prey."""
    usable = scene.usable & jnp.repeat(scene.live, 4)
    return goal_at(scene, first_least(jnp.where(usable, distance(scene.sides, scene.hunters[0]), NEVER)))


def own_post(scene: Scene, size: int) -> Goal:
    """The viewer's cell when all hunters are given one beside a prey.

    Whose farthest cell is farthest chooses first, each the nearest cell that is left. Equals go by where they stand,
    so that all viewers agree.
    """
    far = jnp.where(scene.usable, distance(scene.hunters[:, None], scene.sides[None]), -1).max(1)
    order = far * size**2 - scene.hunters[:, 0] * size - scene.hunters[:, 1]
    turn = (scene.there[None, :] & (order[None, :] > order[:, None])).sum(1)
    rounds = jnp.arange(min(len(turn), len(scene.sides)))
    chooses = (turn == rounds[:, None]) & scene.there
    choosers = (chooses[:, :, None] * scene.hunters).sum(1)

    def give(left: Bool[Array, "cells"], who: tuple[Array, Array]) -> tuple[Bool[Array, "cells"], Bool[Array, "cells"]]:
        chooser, exists = who
        given = first_least(jnp.where(left & exists, distance(scene.sides, chooser), NEVER))
        return left & ~given, given

    # A loop, because written out this compiles for minutes.
    _, given = jax.lax.scan(give, scene.usable, (choosers, rounds < scene.there.sum()))
    return goal_at(scene, (given & chooses[:, :1]).any(0))


def goal_at(scene: Scene, chosen: Bool[Array, "cells"]) -> Goal:
    """The goal whose cell is marked, if any."""
    cell = jnp.where(chosen[:, None], scene.sides, 0).sum(0)
    prey = jnp.where(chosen.reshape(-1, 4).any(1)[:, None], scene.prey, 0).sum(0)
    exists = chosen.any()
    return Goal(cell, prey, exists, exists & (distance(cell, scene.hunters[0]) == 0))


def hesitates(scene: Scene, target: Goal, patience: Patience) -> Bool[Array, ""]:
    """Whether the viewer is near its prey with too few others."""
    near = (distance(scene.hunters, target.prey) <= patience.radius) & scene.there
    return target.exists & near[0] & (near[1:].sum() < patience.others)


def first_least(cost: Int[Array, "n"]) -> Bool[Array, "n"]:
    """A mask of the first of the smallest numbers; of none if all are ``NEVER``."""
    ranked = cost * len(cost) + jnp.arange(len(cost))
    return (ranked == ranked.min()) & (cost < NEVER)


def towards(gap: Int[Array, "2"]) -> Int[Array, ""]:
    """A step along the larger gap; along the column axis if both are equal."""
    vertical = jnp.abs(gap[0]) > jnp.abs(gap[1])
    return step_along(vertical, jnp.where(vertical, gap[0], gap[1]))


def step_along(vertical: Bool[Array, ""], sign: Int[Array, ""]) -> Int[Array, ""]:
    """Down or up, right or left."""
    return jnp.where(vertical, jnp.where(sign > 0, DOWN, UP), jnp.where(sign > 0, RIGHT, LEFT))


def sway(
    u_axis: Float[Array, ""], u_side: Float[Array, ""], me: Int[Array, "2"], goal: Int[Array, "2"], size: int
) -> Int[Array, ""]:
    """A chancy step: the larger gap is likelier to change, and to close."""
    gap = goal - me
    vertical = u_axis < jax.nn.sigmoid((jnp.abs(gap[0]) - jnp.abs(gap[1])) / TEMPERATURE)
    here, along = jnp.where(vertical, me[0], me[1]), jnp.where(vertical, gap[0], gap[1])
    back = jnp.abs(along + 1) + jnp.where(here == 0, BLOCKED, 0)
    forth = jnp.abs(along - 1) + jnp.where(here == size - 1, BLOCKED, 0)
    onward = u_side < jax.nn.sigmoid((back - forth) / TEMPERATURE)
    return step_along(vertical, jnp.where(onward, 1, -1))


def away(me: Int[Array, "2"], prey: Int[Array, "2"], size: int) -> Int[Array, ""]:
    """A step from the prey along the larger gap, or along the other one where the grid ends."""
    gap = me - prey
    vertical = jnp.abs(gap[0]) > jnp.abs(gap[1])
    larger, smaller = jnp.where(vertical, gap, gap[::-1])
    here, across = jnp.where(vertical, me, me[::-1])
    ends = here == jnp.where(larger > 0, size - 1, 0)
    aside = jnp.where(smaller == 0, jnp.where(across < size - 1, 1, -1), smaller)
    return jnp.where(ends, step_along(~vertical, aside), step_along(vertical, larger))


class Hunters(AbstractScripts):
    """The scripted types of Wolfpack."""

    kind: ClassVar[str] = "hunters"
    types: ClassVar[dict[str, tuple[Any, ...]]] = {**TYPES}
    sayings: ClassVar[dict[str, str]] = SENTENCES
    names: tuple[str, ...] = eqx.field(static=True, default=tuple(TYPES))
    """Which of the seven."""
    grid: int = eqx.field(static=True, default=10)
    """Rows and columns of the grid they hunt on."""

    def member(self, index: Int[Array, ""]) -> Hunter:
        way, waits = self.numbers(index)
        return Hunter(way, waits, self.grid)
