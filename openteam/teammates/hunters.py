"""The scripted types of Wolfpack as one parametrised policy.

Four strategies: random; greedy, towards the nearest prey; the same with noise; and aware of teammates, which assigns a
cell beside a prey to every hunter. Each of the last three also has a waiting variant: near a prey with too few others
it backs off. Distances are Manhattan. What several types need is computed once for all of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.memory import Memory
from openteam.core.parts import Parts
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.types import Observation, Spec, View
from openteam.core.world import GridWorld
from openteam.errors import UserError, check_positive
from openteam.teammates.scripted import AbstractScripts
from openteam.worlds.wolfpack.path import first_steps
from openteam.worlds.wolfpack.state import ACTION_NAMES, DOWN, LEFT, RIGHT, STAY, UP, displacement, distance, inside

RANDOM, GREEDY, PROBABILISTIC, AWARE = range(4)

PARAMETERS: dict[str, tuple[int, bool]] = {
    "random": (RANDOM, False),
    "greedy": (GREEDY, False),
    "greedy-probabilistic": (PROBABILISTIC, False),
    "teammate-aware": (AWARE, False),
    "greedy-waiting": (GREEDY, True),
    "greedy-probabilistic-waiting": (PROBABILISTIC, True),
    "teammate-aware-waiting": (AWARE, True),
}

DESCRIPTIONS: dict[str, str] = {
    "random": "Takes any action.",
    "greedy": "Goes to the nearest cell beside a live prey, whoever is in the way, and pushes into it.",
    "greedy-probabilistic": "Has the same goal as greedy, but moves there with noise.",
    "teammate-aware": "Assigns every hunter a cell beside a prey and walks to its own around everybody.",
    "greedy-waiting": "As greedy, but backs off from a prey while too few others are near it.",
    "greedy-probabilistic-waiting": "As greedy-probabilistic, but backs off from a prey while too few others are near.",
    "teammate-aware-waiting": "As teammate-aware, but backs off from a prey while too few others are near it.",
}

BESIDE = (LEFT, RIGHT, DOWN, UP)  # the sides of a prey, in the order in which ties are broken
TEMPERATURE = 2.5
BLOCKED = 5  # added to the distance of a goal for a step off the grid
NEVER = 2**20
PREY_FEATURES = 6  # shared features of a prey: row, column, and which of four ways it faces


class Patience(eqx.Module):
    """What a waiting type draws when it joins."""

    radius: Int[Array, ""]  # distance that counts as near
    others: Int[Array, ""]  # others that must be near the prey before it attacks


class Scene(eqx.Module):
    """An observation as integers."""

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
    """One scripted type. Its parameters are arrays, so that the seven types can be stacked."""

    strategy: Int[Array, ""]  # random, greedy, probabilistic, aware
    waits: Bool[Array, ""]
    size: int = eqx.field(static=True)
    drifts: bool = eqx.field(static=True, default=False)  # see Hunters
    retreats_blindly: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> Memory[Patience, tuple[()]]:
        del slots
        return Memory(Patience(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32)), ())

    def decide(self, key: Key[Array, ""], memory: Memory[Patience, tuple[()]], view: View) -> Decision:
        u_action, u_side, u_radius, u_others = jax.random.uniform(key, (4,))
        new = draw_patience(u_radius, u_others)
        patience = jax.tree.map(lambda drawn, old: jnp.where(view.starts, drawn, old), new, memory.team)
        scene = read_scene(view.obs, self.size)
        me = scene.hunters[0]
        target, assigned = nearest_goal(scene), assigned_goal(scene, self.size)
        steps = self.path_to(scene, assigned)

        random_action = jnp.floor(u_action * (STAY + 1)).astype(jnp.int32)
        pushes = jnp.where(self.strategy == AWARE, assigned.reached, target.reached)
        push = step_towards(jnp.where(self.strategy == AWARE, assigned.prey, target.prey) - me)
        walk = jnp.where(
            self.strategy == AWARE,
            jnp.argmax(steps).astype(jnp.int32),
            jnp.where(
                self.strategy == GREEDY,
                step_towards(target.cell - me),
                noisy_step(u_action, u_side, me, target.cell, self.size, self.drifts),
            ),
        )
        lost = jnp.where(self.strategy == AWARE, ~steps.any(), ~target.exists) | (self.strategy == RANDOM)
        retreats = self.waits & must_wait(scene, target, patience)
        action = jnp.where(pushes & (self.strategy != RANDOM), push, jnp.where(lost, random_action, walk))
        if self.retreats_blindly:
            away = step_away_blindly(u_action, me, target.prey, self.size)
        else:
            away = step_away(me, target.prey, self.size)
        action = jnp.where(retreats, away, action)
        return Decision(action, Memory(patience, ()), Explanation())

    def path_to(self, scene: Scene, assigned: Goal) -> Bool[Array, "4"]:
        """The first steps to the assigned goal around everybody; none for other strategies."""
        bodies = jnp.concatenate([scene.hunters, scene.prey])
        there = jnp.concatenate([scene.there, jnp.ones_like(scene.live)])
        searches = (self.strategy == AWARE) & assigned.exists & ~assigned.reached
        return first_steps(scene.hunters[0], assigned.cell, bodies, there, searches, self.size)


def draw_patience(u_radius: Float[Array, ""], u_others: Float[Array, ""]) -> Patience:
    """A radius of 2, 3 or 4 with probabilities 0.4, 0.4 and 0.2; 1 or 2 others with 0.7 and 0.3."""
    radius = 2 + (u_radius >= 0.4).astype(jnp.int32) + (u_radius >= 0.8)
    return Patience(radius, 1 + (u_others >= 0.7).astype(jnp.int32))


def read_scene(obs: Observation, size: int) -> Scene:
    """The scene of an observation. A prey with two hunters beside it was captured and is about to move elsewhere."""
    count = obs.shared.shape[0] // PREY_FEATURES
    hunters, prey = obs.agents.astype(jnp.int32), obs.shared[: 2 * count].reshape(count, 2).astype(jnp.int32)
    beside = (distance(hunters[:, None], prey[None]) == 1) & obs.visible[:, None]
    sides = (prey[:, None] + displacement(jnp.array(BESIDE))).reshape(-1, 2)
    return Scene(hunters, obs.visible, prey, beside.sum(0) < 2, sides, inside(sides, size))


def nearest_goal(scene: Scene) -> Goal:
    """The nearest cell beside a live prey."""
    usable = scene.usable & jnp.repeat(scene.live, 4)
    return goal_at(scene, first_minimum(jnp.where(usable, distance(scene.sides, scene.hunters[0]), NEVER)))


def assigned_goal(scene: Scene, size: int) -> Goal:
    """The viewer's goal when every hunter is assigned a cell beside a prey.

    The hunter with the farthest such cell chooses first, each takes the nearest cell that is left. Ties are broken by
    position, so that all viewers agree.
    """
    far = jnp.where(scene.usable, distance(scene.hunters[:, None], scene.sides[None]), -1).max(1)
    order = far * size**2 - scene.hunters[:, 0] * size - scene.hunters[:, 1]
    rank = (scene.there[None, :] & (order[None, :] > order[:, None])).sum(1)
    rounds = jnp.arange(min(len(rank), len(scene.sides)))
    chooses = (rank == rounds[:, None]) & scene.there
    choosers = (chooses[:, :, None] * scene.hunters).sum(1)

    def assign(
        left: Bool[Array, "cells"], who: tuple[Array, Array]
    ) -> tuple[Bool[Array, "cells"], Bool[Array, "cells"]]:
        chooser, exists = who
        chosen = first_minimum(jnp.where(left & exists, distance(scene.sides, chooser), NEVER))
        return left & ~chosen, chosen

    # A scan, because unrolled this would compile for minutes.
    _, chosen = jax.lax.scan(assign, scene.usable, (choosers, rounds < scene.there.sum()))
    return goal_at(scene, (chosen & chooses[:, :1]).any(0))


def goal_at(scene: Scene, chosen: Bool[Array, "cells"]) -> Goal:
    """The goal at the cell that is marked, if one is."""
    cell = jnp.where(chosen[:, None], scene.sides, 0).sum(0)
    prey = jnp.where(chosen.reshape(-1, 4).any(1)[:, None], scene.prey, 0).sum(0)
    exists = chosen.any()
    return Goal(cell, prey, exists, exists & (distance(cell, scene.hunters[0]) == 0))


def must_wait(scene: Scene, target: Goal, patience: Patience) -> Bool[Array, ""]:
    """Whether the viewer is near its prey and too few others are."""
    near = (distance(scene.hunters, target.prey) <= patience.radius) & scene.there
    return target.exists & near[0] & (near[1:].sum() < patience.others)


def first_minimum(cost: Int[Array, "n"]) -> Bool[Array, "n"]:
    """The mask of the first minimum; empty if all are ``NEVER``."""
    ranked = cost * len(cost) + jnp.arange(len(cost))
    return (ranked == ranked.min()) & (cost < NEVER)


def step_towards(gap: Int[Array, "2"]) -> Int[Array, ""]:
    """A step along the larger gap, along columns if both are equal."""
    vertical = jnp.abs(gap[0]) > jnp.abs(gap[1])
    return step_along(vertical, jnp.where(vertical, gap[0], gap[1]))


def step_along(vertical: Bool[Array, ""], sign: Int[Array, ""]) -> Int[Array, ""]:
    """A vertical or horizontal step: down or right if ``sign`` is positive, else up or left."""
    return jnp.where(vertical, jnp.where(sign > 0, DOWN, UP), jnp.where(sign > 0, RIGHT, LEFT))


def noisy_step(
    u_axis: Float[Array, ""], u_side: Float[Array, ""], me: Int[Array, "2"], goal: Int[Array, "2"], size: int,
    drifts: bool = False,
) -> Int[Array, ""]:  # fmt: skip
    """A random step that most likely closes the larger gap: both choices are softmax."""
    gap = goal - me
    vertical = u_axis < jax.nn.sigmoid((jnp.abs(gap[0]) - jnp.abs(gap[1])) / TEMPERATURE)
    here, along = jnp.where(vertical, me[0], me[1]), jnp.where(vertical, gap[0], gap[1])
    back = jnp.abs(along + 1) + jnp.where(here == 0, BLOCKED, 0)
    ahead = jnp.abs(along - 1) - jnp.where((along == 0) & drifts, 2, 0)
    forth = ahead + jnp.where(here == size - 1, BLOCKED, 0)
    onward = u_side < jax.nn.sigmoid((back - forth) / TEMPERATURE)
    return step_along(vertical, jnp.where(onward, 1, -1))


def step_away(me: Int[Array, "2"], prey: Int[Array, "2"], size: int) -> Int[Array, ""]:
    """A step away from the prey along the larger gap, or along the other one at the edge of the grid."""
    gap = me - prey
    vertical = jnp.abs(gap[0]) > jnp.abs(gap[1])
    larger, smaller = jnp.where(vertical, gap, gap[::-1])
    here, across = jnp.where(vertical, me, me[::-1])
    ends = here == jnp.where(larger > 0, size - 1, 0)
    aside = jnp.where(smaller == 0, jnp.where(across < size - 1, 1, -1), smaller)
    return jnp.where(ends, step_along(~vertical, aside), step_along(vertical, larger))


def step_away_blindly(
    uniform: Float[Array, ""], me: Int[Array, "2"], prey: Int[Array, "2"], size: int
) -> Int[Array, ""]:
    """The released code's step away from the prey, along the larger gap of those that do not lead off the grid.

    Without a gap "away" is down or left, whatever room there is; with no way left the step is random.
    """
    gap = me - prey
    down, right = gap[0] >= 0, gap[1] > 0
    vertical_open = me[0] != jnp.where(down, size - 1, 0)
    horizontal_open = me[1] != jnp.where(right, size - 1, 0)
    vertical = vertical_open & (~horizontal_open | (jnp.abs(gap[0]) > jnp.abs(gap[1])))
    step = jnp.where(vertical, jnp.where(down, DOWN, UP), jnp.where(right, RIGHT, LEFT))
    return jnp.where(vertical_open | horizontal_open, step, jnp.floor(uniform * STAY).astype(jnp.int32))


class Hunters(AbstractScripts):
    """The scripted types of Wolfpack, as a family of a pool."""

    kind: ClassVar[str] = "hunters"
    parameters: ClassVar[dict[str, tuple[Any, ...]]] = {**PARAMETERS}
    descriptions: ClassVar[dict[str, str]] = DESCRIPTIONS
    names: tuple[str, ...] = eqx.field(static=True, default=tuple(PARAMETERS))
    """Which of the seven."""
    grid: int = eqx.field(static=True, default=10)
    """Rows and columns of the world's grid, which observations do not tell. A task refuses another size."""
    drifts: bool = eqx.field(static=True, default=False)
    """On an axis without a gap a greedy-probabilistic hunter steps down or right with probability 0.69, as in the
    released code. Else both ways are equally likely."""
    retreats_blindly: bool = eqx.field(static=True, default=False)
    """At the edge of the grid a waiting hunter backs off along the other axis, down or left if it has no gap there, and
    in a corner anywhere, as in the released code. Else it turns to the side where there is room."""

    def __check_init__(self) -> None:
        check_positive(self, "grid")

    def reads(self, spec: Spec) -> bool:
        sizes = spec.agent_features, spec.shared_features % PREY_FEATURES, spec.actions
        return sizes == (2, 0, len(ACTION_NAMES)) and spec.shared_features > 0

    def check_parts(self, parts: Parts) -> None:
        if isinstance(parts.world, GridWorld) and parts.world.size != self.grid:
            size = parts.world.size
            raise UserError(
                f"These hunters know a grid of {self.grid}x{self.grid} cells and the world has {size}x{size}. Give "
                f"the pool Hunters(grid={size}), or change the world's size."
            )

    def member(self, index: Int[Array, ""]) -> Hunter:
        strategy, waits = self.select(index)
        return Hunter(strategy, waits, self.grid, self.drifts, self.retreats_blindly)
