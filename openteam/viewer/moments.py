"""Episodes step by step: what the learner makes of a moment, where everybody's actions lead, and what if it were other.

All random numbers are those of the episode's seed and the step, so that two policies, or a person and a type, can be
compared on the same seeds, and a changed moment with the true one.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.compile_cache import quick_jit
from openteam.core.policy import AbstractPolicy, Decision
from openteam.core.random import key as make_key
from openteam.core.types import NO_ACTION, View
from openteam.core.view import meet
from openteam.openness.casualties import CountsTimeOut
from openteam.task import EnvState, Task

Keys = tuple[Key[Array, ""], Key[Array, ""]]


class Moment(eqx.Module):
    """All that decides what the learner does now."""

    env: EnvState
    seen_before: Int[Array, "slots"]  # the visit that the learner saw last in each slot, before this moment
    memory: Any  # the learner's, before it decides


class Look(eqx.Module):
    """What the learner makes of a moment, and what everybody else does in it."""

    decision: Decision
    actions: Int[Array, "slots"]  # the joint action, if nobody interferes
    by_type: Int[Array, "slots"]  # the same with the type of slot 0 instead of the learner
    env: EnvState  # with the teammates' memories after they acted
    visible: Bool[Array, "slots"]
    sees: Bool[Array, "rows columns"]


class Edit(eqx.Module):
    """What is changed about a moment: who is taken out, who is put in and of which type, and who stands elsewhere."""

    remove: Bool[Array, "slots"]
    add: Bool[Array, "slots"]
    type_ids: Int[Array, "slots"]
    moved: Bool[Array, "slots"]
    position: Float[Array, "slots 2"]  # as the world's state has it


def episode_keys(seed: int, step: int) -> Keys:
    """One key for looking at a moment, one for the step after it; a step of -1 begins the episode."""
    return keys_of_step(make_key(seed), jnp.int32(step))


@quick_jit
def keys_of_step(root: Key[Array, ""], step: Int[Array, ""]) -> Keys:
    """The same, from the episode's root."""
    keys = jax.random.split(jax.random.fold_in(root, step + 1))
    return keys[0], keys[1]


@quick_jit
def begin(task: Task, policy: AbstractPolicy, key: Key[Array, ""]) -> Moment:
    """A new episode."""
    env, _ = task.reset(key)
    return Moment(env, jnp.zeros(task.slots, jnp.int32), policy.start(task.slots))


@quick_jit
def look(task: Task, policy: AbstractPolicy, key: Key[Array, ""], moment: Moment) -> Look:
    """What the learner sees and thinks now, and what everybody does."""
    return look_at(task, policy, key, moment)


def look_at(task: Task, policy: AbstractPolicy, key: Key[Array, ""], moment: Moment) -> Look:
    """The same, not compiled."""
    k_view, k_decide, k_team = jax.random.split(key, 3)
    env = moment.env
    obs = task.observe(k_view, env.world)
    new, _ = meet(env.visits, moment.seen_before, obs.visible)
    decision = policy.decide(k_decide, moment.memory, View(obs, env.clock == 0, new, env.previous_actions[0]))
    actions, after = task.teammates_act(k_team, env)
    sees = task.view.sees(task.world, env.world, jnp.zeros((), jnp.int32))
    return Look(decision, actions.at[0].set(decision.action), actions, after, obs.visible, sees)


@quick_jit
def advance(
    task: Task, key: Key[Array, ""], seen_before: Int[Array, "slots"], look: Look, actions: Int[Array, "slots"]
) -> tuple[Moment, Float[Array, "slots"], Bool[Array, ""]]:
    """The next moment, everybody's reward, and whether the episode is over."""
    return advance_from(task, key, seen_before, look, actions)


def advance_from(
    task: Task, key: Key[Array, ""], seen_before: Int[Array, "slots"], look: Look, actions: Int[Array, "slots"]
) -> tuple[Moment, Float[Array, "slots"], Bool[Array, ""]]:
    """The same, not compiled."""
    _, seen = meet(look.env.visits, seen_before, look.visible)
    env, timestep, truth = task.transition(key, look.env, actions)
    return Moment(env, seen, look.decision.memory), truth.rewards, timestep.ends


@quick_jit
def change(task: Task, key: Key[Array, ""], moment: Moment, edit: Edit) -> Moment:
    """The moment as it would be with these changes; the learner remembers what it remembered."""
    return changed(task, key, moment, edit)


def changed(task: Task, key: Key[Array, ""], moment: Moment, edit: Edit) -> Moment:
    """The same, not compiled."""
    env = moment.env
    world = task.world.dismiss(env.world, edit.remove)
    if isinstance(world, CountsTimeOut):  # else its open process would bring it back in the next step
        world = eqx.tree_at(lambda w: w.out_for, world, jnp.where(edit.remove, task.horizon, world.out_for))
    world = task.world.admit(key, world, edit.add)
    if has_position(world):
        position = jnp.where(edit.moved[:, None], edit.position.astype(world.position.dtype), world.position)
        world = eqx.tree_at(lambda w: w.position, world, position)
    env = eqx.tree_at(
        lambda e: (e.world, e.type_ids, e.previous_actions, e.arrived, e.visits),
        env,
        (
            world,
            jnp.where(edit.add, edit.type_ids, env.type_ids),
            jnp.where(edit.add, NO_ACTION, env.previous_actions),
            env.arrived | edit.add,
            env.visits + edit.add,
        ),
    )
    return Moment(env, moment.seen_before, moment.memory)


@quick_jit
def values_without(
    task: Task, policy: AbstractPolicy, keys: Keys, moment: Moment
) -> Float[Array, "slots actions"] | None:
    """The learner's values, or probabilities, of its actions if one agent were not there, for each slot."""

    def one(slot: Array) -> Any:
        nobody = jnp.zeros(task.slots, bool)
        edit = Edit(
            nobody.at[slot].set(True),
            nobody,
            moment.env.type_ids,
            nobody,
            jnp.zeros((task.slots, 2)),
        )
        return preferences(look_at(task, policy, keys[0], changed(task, keys[1], moment, edit)).decision)

    return jax.vmap(one)(jnp.arange(task.slots))


def preferences(decision: Decision) -> Float[Array, "actions"] | None:
    """Values of the learner's actions, else their probabilities; None from one who tells neither."""
    why = decision.explanation
    return why.probabilities if why.action_values is None else why.action_values


def has_position(world_state: Any) -> bool:
    """Whether a world's state has places that can be set, as those of the named worlds have."""
    return getattr(getattr(world_state, "position", None), "shape", ())[1:] == (2,)
