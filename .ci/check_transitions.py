"""Our ``*-released`` tasks against steps that were recorded from the genuine environments.

    python .ci/check_transitions.py FOLDER

FOLDER holds ``lbf_full.npz``, ``lbf_partial.npz``, ``wolfpack_full.npz``, ``wolfpack_partial.npz``, ``navigation.npz``
and ``fortattack.npz``. Fails on a difference that no known rule explains.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import openteam
from openteam.core.random import key as make_key
from openteam.openness import Casualties
from openteam.task import Task
from openteam.teammates.foragers import walk_or_load
from openteam.teammates.navigators import walk
from openteam.views.full import FullView
from openteam.worlds.fortattack import FortState
from openteam.worlds.lbf.state import ForagingState
from openteam.worlds.navigation.state import HIDDEN, NavigationState
from openteam.worlds.wolfpack import WolfpackState
from openteam.worlds.wolfpack.rules import rewards, transition

KEY = make_key(0)
LEARNER = jnp.zeros((), jnp.int32)
TIES = (np.arange(12) + 0.5) / 12  # every share of up to four tied agents is a whole number of twelfths
Recorded = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Row:
    """How one quantity compares."""

    what: str
    same: np.ndarray
    """One flag per comparison."""
    known: np.ndarray | bool = False
    """Comparisons that may differ."""
    rule: str = ""
    """Why they may."""

    @property
    def unexplained(self) -> int:
        return int((~self.same & ~np.broadcast_to(self.known, self.same.shape)).sum())

    def __str__(self) -> str:
        differ = int((~self.same).sum())
        why = f"  {self.rule}" if differ and self.rule else ""
        loud = f"  UNEXPLAINED: {self.unexplained}" if self.unexplained else ""
        return f"  {self.what:<42}{self.same.size:>8}{differ:>8}{why}{loud}"


def every(same: np.ndarray, cases: int) -> np.ndarray:
    """One flag per case: all its numbers are the same."""
    return np.asarray(same).reshape(cases, -1).all(1)


def batched(state: type, *fields: np.ndarray) -> Any:
    """States side by side, integers as the worlds have them."""
    return state(*(jnp.asarray(each.astype(np.int32) if each.dtype.kind == "i" else each) for each in fields))


def seen(task: Task, states: Any) -> Any:
    """What the learner observes in each of these states."""
    return jax.vmap(lambda state: task.view(KEY, task.world, state, LEARNER))(states)


def scripted(task: Task, states: Any, slots: int, decide: Any) -> np.ndarray:
    """The exact action probabilities of every slot, if it followed each scripted type: [cases, slots, types, actions].

    ``decide`` gives for a type, an observation and a tie-break the action, and whether there is one; without one a
    type takes any legal action.
    """
    family = task.pool.families[0]

    def probabilities(state: Any, slot: Any, index: Any) -> Any:
        obs = FullView()(KEY, task.world, state, slot)
        action, useful = jax.vmap(lambda tie: decide(family.member(index), obs, tie))(jnp.asarray(TIES, jnp.float32))
        anything = obs.legal / obs.legal.sum()
        return jnp.where(useful[:, None], jax.nn.one_hot(action, len(obs.legal)), anything).mean(0)

    over_types = jax.vmap(probabilities, (None, None, 0))
    over_slots = jax.vmap(over_types, (None, 0, None))
    over_cases = jax.vmap(over_slots, (0, None, None))
    return np.asarray(jax.jit(over_cases)(states, jnp.arange(slots), jnp.arange(family.size)))


def compare_scripted(ours: np.ndarray, theirs: np.ndarray, there: np.ndarray) -> np.ndarray:
    """For every agent that has a recorded answer and every recorded type, whether the probabilities are the same."""
    recorded = there & (theirs.sum((-1, -2)) > 0)
    ours = ours[:, :, : theirs.shape[2]]  # our stand-ins for learned types come last
    return (np.abs(ours - theirs) < 1e-5).all(-1)[recorded]


def foraging(task: Task, data: Recorded, partial: bool) -> Iterator[Row]:
    """Level-Based Foraging."""
    cases, world = len(data["done"]), task.world
    fields = (data[name] for name in ("present", "position", "level", "food_position", "food_level"))
    before = batched(ForagingState, *fields)
    legal = np.asarray(jax.vmap(world.legal)(before))
    yield Row("legal actions", every((legal == data["legal"]) | ~data["present"][..., None], cases))
    actions = jnp.asarray(data["actions"], jnp.int32)
    after, reward, terminal = jax.vmap(lambda s, a: world.step(KEY, s, a))(before, actions)
    moved = (np.asarray(after.position) == data["next_position"]).all(-1) | ~data["present"]
    yield Row("positions", every(moved, cases))
    yield Row("food", every(np.asarray(after.food_level) == data["next_food_level"], cases))
    yield Row("rewards", every(np.asarray(reward) == data["reward"], cases))
    yield Row("ends", (np.asarray(terminal) | (data["steps_played"] >= task.horizon)) == data["done"])
    obs = seen(task, after)
    yield Row("the learner's view: food", every(np.asarray(obs.shared) == data["obs_food"].reshape(cases, -1), cases))
    agents = np.asarray(obs.agents)
    if partial:
        yield Row("the learner's view: agents", every(agents == data["obs_agents"], cases))
    listed = [np.array([*row[shown], *row[~shown]]) for row, shown in zip(agents, np.asarray(obs.visible), strict=True)]
    yield Row("the learner's view: agents, listed", every(np.array(listed) == data["obs_agents_listed"], cases))

    def decide(policy: Any, obs: Any, tie: Any) -> Any:
        target, found = policy.choose_food(obs, tie)
        step, useful = walk_or_load(obs.agents[0, :2], target, obs.legal)
        return step, found & useful

    same = compare_scripted(scripted(task, before, 5, decide), data["scripted"], data["present"])
    at = data["position"]
    shares = (at[:, :, None] == at[:, None]).all(-1) & data["present"][:, :, None] & data["present"][:, None]
    crowded = np.broadcast_to((shares.sum((1, 2)) > data["present"].sum(1))[:, None], data["present"].shape)
    crowded = crowded[data["present"] & (data["scripted"].sum((-1, -2)) > 0)]
    yield Row("types H1 to H7", same[:, :7].ravel())
    yield Row("type H8", same[:, 7], crowded, "two agents on one cell; a type does not know its own slot's number")


def wolfpack(task: Task, data: Recorded, partial: bool) -> Iterator[Row]:
    """Wolfpack, from the moment when captured prey have come back."""
    cases, world = len(data["done"]), task.world
    present = np.arange(5) < data["n"][:, None]
    none = np.zeros_like(data["captured"])
    cell = data["prey_respawned"]
    on_hunter = ((cell[:, :, None] == data["position"][:, None]).all(-1) & present[:, None]).any(-1)
    on_prey = (cell[:, :, None] == data["prey"][:, None]).all(-1).any(-1)
    possible = ~on_hunter & ~(on_prey & world.returns_elsewhere)
    stayed = (cell == data["prey"]).all(-1)
    yield Row("where prey come back is possible in ours", every(np.where(data["captured"], possible, stayed), cases))
    before = batched(WolfpackState, present, data["position"], cell, data["facing"], none, ~none)
    actions, prey_actions = (jnp.asarray(data[name], jnp.int32) for name in ("actions", "prey_actions"))
    after = jax.vmap(lambda *step: transition(*step, world.size))(before, actions, prey_actions)
    moved = (np.asarray(after.position) == data["next_position"]).all(-1) | ~present
    yield Row("positions", every(moved, cases))
    yield Row("prey", every(np.asarray(after.prey_position) == data["next_prey"], cases))
    yield Row("where prey face", every(np.asarray(after.facing) == data["next_facing"], cases))
    yield Row("captures", every(np.asarray(after.captured) == data["next_captured"], cases))
    settings = world.capture, world.close_penalty, world.shaping
    reward = jax.vmap(lambda *states: rewards(*states, *settings))(before, after)
    yield Row("rewards", every((np.abs(np.asarray(reward) - data["reward"]) < 1e-5) | ~present, cases))
    yield Row("ends", (data["steps_left"] <= 1) == data["done"])
    obs = seen(task, after)
    yield Row("the learner's view: hunters", every(np.asarray(obs.agents) == data["obs_agents"], cases))
    ours, theirs = np.asarray(obs.shared), data["obs_shared"]
    # Where a prey in sight seems to be is random in the partial task: one cell off at most, on both sides.
    near = np.abs(ours[:, :4] - theirs[:, :4]) <= (2 * ((ours >= 0) & (theirs >= 0))[:, :4] if partial else 0)
    yield Row("the learner's view: prey", every(near, cases) & every(ours[:, 4:] == theirs[:, 4:], cases))


def navigation(task: Task, data: Recorded) -> Iterator[Row]:
    """Penalized Cooperative Navigation."""
    cases, world = len(data["done"]), task.world
    spare = np.full((cases, world.most - 2, 2), HIDDEN, np.int8)
    places = np.concatenate([data["destination"], spare], 1)
    before = batched(NavigationState, data["present"], data["position"], places)
    legal = np.asarray(jax.vmap(world.legal)(before))
    yield Row("legal actions", every((legal == data["legal"]) | ~data["present"][..., None], cases))
    actions = jnp.asarray(data["actions"], jnp.int32)
    after, reward, terminal = jax.vmap(lambda s, a: world.step(KEY, s, a))(before, actions)
    moved = (np.asarray(after.position) == data["next_position"]).all(-1) | ~data["present"]
    yield Row("positions", every(moved, cases))
    yield Row("rewards", every(np.abs(np.asarray(reward) - data["reward"]) < 1e-6, cases))
    yield Row("ends", (np.asarray(terminal) | (data["steps_played"] >= task.horizon)) == data["done"])
    destination = np.asarray(after.destination)
    yield Row("how many destinations", (destination[..., 0] != HIDDEN).sum(1) == data["next_destinations"])
    # New destinations are random, and where there are three only the first two are recorded.
    reached = (data["reward"] > 0).any(1)
    same = every(destination[:, :2] == data["next_destination"], cases)
    yield Row("destinations, without success", same[~reached])
    obs = seen(task, after)
    shown = every(np.asarray(obs.shared) == data["obs_destinations"].reshape(cases, -1), cases)
    yield Row("the learner's view: destinations", shown[~reached])
    yield Row("the learner's view: agents", every(np.asarray(obs.agents) == data["obs_agents"], cases))

    def decide(policy: Any, obs: Any, tie: Any) -> Any:
        target, found = policy.choose_destination(obs, tie)
        step, useful = walk(obs.agents[0], target)
        return step, found & useful

    yield Row(
        "types H1 to H4",
        compare_scripted(scripted(task, before, 5, decide), data["scripted"], data["present"]).ravel(),
    )


def fortattack(task: Task, data: Recorded) -> Iterator[Row]:
    """FortAttack; the learner's slot is swapped with the first."""
    cases, world = len(data["done"]), task.world
    order = np.tile(np.arange(10), (cases, 1))
    order[np.arange(cases), data["learner"]], order[:, 0] = 0, data["learner"]
    data = {name: each[np.arange(cases)[:, None], order] if each.shape[1:2] == (10,) and name != "obs" else each
            for name, each in data.items()}  # fmt: skip
    present, actions = data["present"], jnp.asarray(data["actions"], jnp.int32)
    poses = (data[name].astype(np.float32) for name in ("position", "velocity", "angle"))
    out_for = np.where(present, 0, np.maximum(data["out_for"], 0))
    before = batched(FortState, present, *poses, np.zeros_like(present), out_for, data["clock"])
    after, reward, terminal = jax.vmap(lambda s, a: world.step(KEY, s, a))(before, actions)
    hit = present & (np.asarray(after.out_for) > 0)
    was_hit = present & (data["next_out_for"] > 0)
    yield Row("who is hit", every(hit == was_hit, cases))
    # Theirs counts in 64 bits: a time out this near to a whole number may be cut differently.
    strength = time_out(world, data, before)
    even = np.abs(strength - np.round(strength)) < 1e-4
    same = (np.asarray(after.out_for) == np.maximum(data["next_out_for"], 0)) | ~data["takes_part"]
    yield Row("times out", every(same, cases), even.any(1), "a whole number but for rounding, in 32 and 64 bits")
    openness = Casualties(5, 5, 5)
    _, leaving, joining = jax.vmap(lambda takes, s: openness.step(KEY, takes, s))(data["takes_part"], after)
    there = (np.asarray(after.present) & ~np.asarray(leaving)) | np.asarray(joining)
    there[:, 0] &= ~hit[:, 0]  # our learner stays, for that ends the game
    yield Row("who is present", every(there == data["next_present"], cases))
    stays = data["next_present"] & present
    for name, exact in (("position", 1e-5), ("velocity", 1e-4), ("angle", 1e-4)):
        gap = np.abs(np.asarray(getattr(after, name)) - data[f"next_{name}"]).reshape(cases, 10, -1).max(-1)
        yield Row(name, every((gap < exact) | ~stays, cases))
    yield Row("reward of the learner", np.abs(np.asarray(reward)[:, 0] - data["reward"]) < 1e-4)
    yield Row("ends", np.asarray(terminal) == data["done"])
    features, _ = jax.vmap(world.features)(after)
    theirs = data["obs"]
    gap = np.abs(np.asarray(features) - theirs[..., 1:8]).max(-1)
    yield Row("the learner's view", every((gap < 1e-4) | ~stays, cases) & every(theirs[..., 0] == there, cases))


def time_out(world: Any, data: Recorded, before: FortState) -> np.ndarray:
    """Everybody's time out before it is cut, in 64 bits."""
    shooting = world.shooting
    shot = (data["actions"] == 7) & data["present"]
    hits = np.asarray(jax.vmap(shooting.hits)(before.position, before.angle, jnp.asarray(shot), before.present))
    gap = np.linalg.norm(data["position"][:, :, None] - data["position"][:, None], axis=-1)
    share = np.clip((shooting.harmless - gap) / (shooting.harmless - shooting.closest), 0, 1)
    return shooting.longest * (share * hits).sum(1)


CHECKS = {
    "lbf_full": ("lbf-released", lambda task, data: foraging(task, data, False)),
    "lbf_partial": ("lbf-partial-released", lambda task, data: foraging(task, data, True)),
    "wolfpack_full": ("wolfpack-released", lambda task, data: wolfpack(task, data, False)),
    "wolfpack_partial": ("wolfpack-partial-released", lambda task, data: wolfpack(task, data, True)),
    "navigation": ("navigation-partial-released", navigation),
    "fortattack": ("fortattack-released", fortattack),
}


def main(folder: Path) -> int:
    """A table per file; the number of differences that nothing explains."""
    wrong = 0
    for file, (name, check) in CHECKS.items():
        with np.load(folder / f"{file}.npz") as stored:
            data = dict(stored)
        print(f"{name}: {len(data['done'])} genuine transitions ({file})")
        print(f"  {'':<42}{'compared':>8}{'differ':>8}  known rule")
        for row in check(openteam.make(name), data):
            print(row)
            wrong += row.unexplained
    print(f"{wrong} unexplained differences")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
