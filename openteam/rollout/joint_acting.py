"""Joint training: every slot of a task is the learner, or every slot of one side against types of the pool.

One policy acts for all, each slot with its own view, memory and reward. To the learner's update this looks like any
other chunk: its rows are (environment, slot) pairs, each as that slot sees it, and ``Truth.exists[..., 0]`` says
whether the row's agent was there at all. There are rows for the pool's slots too. ``Truth.type_ids`` mean nothing where
everybody is trained.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from openteam.core.learner import AbstractJointLearner, AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.sides import Sides
from openteam.core.types import TimeStep, Truth, View
from openteam.core.view import meet, viewer_first
from openteam.rollout.acting import Act, Actor, act_and_step, start_memory
from openteam.task import EnvState, Task


@runtime_checkable
class SlotPolicies(Protocol):
    """A policy that may have networks of its own for every slot."""

    def in_slot(self, slot: Int[Array, ""]) -> AbstractPolicy:
        """The policy of the agent in that slot."""
        ...


def start_joint_actor(task: Task, policy: AbstractPolicy, key: Key[Array, ""], envs: int) -> Actor:
    """New episodes, seen by everybody."""
    env, timestep = jax.vmap(lambda k: reset_jointly(task, k))(jax.random.split(key, envs))
    return Actor(env, merge(timestep), start_memory(policy, task.slots, envs * task.slots))


def act_jointly(
    task: Task, policy: AbstractPolicy, actor: Actor, keys: Key[Array, "envs 2"], sides: Sides = Sides()
) -> tuple[Actor, Array, Truth]:
    """One step of every environment, in which the learner acts for the first of the sides and the pool for the rest."""
    envs, slots, env = len(keys), task.slots, actor.env
    k_act, k_step = keys[:, 0], keys[:, 1]
    act_keys = jax.vmap(lambda key: jax.random.split(key, slots))(k_act).reshape(-1)

    def act(slot: Array, key: Array, memory: Any, view: View) -> tuple[Array, Any]:
        one = policy.in_slot(slot) if isinstance(policy, SlotPolicies) else policy
        return one.act(key, memory, view)

    actions, memory = jax.vmap(act)(jnp.tile(jnp.arange(slots), envs), act_keys, actor.memory, actor.timestep.view)
    joint_actions = actions.reshape(envs, slots)
    if sides.count > 1:
        both = jax.vmap(jax.random.split)(k_step)
        k_pool, k_step = both[:, 0], both[:, 1]
        stored, env = jax.vmap(task.teammates_act)(k_pool, env)
        joint_actions = jnp.where(sides.trained(slots), joint_actions, stored)
    step = jax.vmap(partial(step_jointly, task))
    env, timestep, truth = step(k_step, env, joint_actions)
    return Actor(env, merge(timestep), memory), joint_actions.reshape(-1), merge(truth)


def way_of_acting(learner: AbstractLearner) -> Act:
    """How a learner collects: for the learner's slot alone, for everybody, or for one side."""
    if not learner.joint:
        return act_and_step
    return partial(act_jointly, sides=sides_of(learner))


def sides_of(learner: AbstractLearner) -> Sides:
    """Whom a learner acts for, where it acts for more than one."""
    return learner.sides if isinstance(learner, AbstractJointLearner) else Sides()


def reset_jointly(task: Task, key: Key[Array, ""]) -> tuple[EnvState, TimeStep]:
    """A new episode; the time step has one leading row per slot."""
    k_reset, k_view = jax.random.split(key)
    state, _ = task.reset(k_reset)
    nobody = jnp.zeros((task.slots, task.slots), jnp.int32)
    state, view = everybodys_view(task, k_view, eqx.tree_at(lambda s: s.last_seen, state, nobody))
    zeros, ones = jnp.zeros(task.slots), jnp.ones(task.slots)
    return state, TimeStep(view, zeros, ones, zeros.astype(bool), view)


def step_jointly(
    task: Task, key: Key[Array, ""], state: EnvState, actions: Int[Array, "slots"]
) -> tuple[EnvState, TimeStep, Truth]:
    """One step with everybody's actions given, as every slot sees it; a closed episode is followed by a new one.

    For whoever leaves, the game is over: nothing can be expected after its last transition, so its discount is 0.
    """
    k_step, k_reset, k_view = jax.random.split(key, 3)
    final, _, rewards, over, ends = task.advance_world(jax.random.split(k_step, 4), state, actions)
    truth = task.truth(state, actions, rewards)
    stays = truth.exists & final.world.present & ~final.arrived
    final, final_view = everybodys_view(task, k_view, final)
    restarted, opening = reset_jointly(task, k_reset)
    after, view = jax.tree.map(
        lambda new, old: jnp.where(ends, new, old), (restarted, opening.view), (final, final_view)
    )
    timestep = TimeStep(
        view=view,
        reward=rewards,
        discount=(1.0 - over.astype(jnp.float32)) * stays,
        ends=jnp.broadcast_to(ends, stays.shape),
        final_view=final_view,
    )
    return after, timestep, everybodys_truth(truth)


def everybodys_view(task: Task, key: Key[Array, ""], state: EnvState) -> tuple[EnvState, View]:
    """What each slot sees through the task's view, itself first, and the state in which all have seen that.

    Whoever has just arrived is new to all, and all are new to it.
    """
    slots, keys = jnp.arange(task.slots), jax.random.split(key, task.slots)
    obs = jax.vmap(lambda k, viewer: task.view(k, task.world, state.world, viewer))(keys, slots)
    visits = jax.vmap(viewer_first, (None, 0))(state.visits, slots)
    remembered = jnp.where(state.arrived[:, None], 0, state.last_seen)
    new, last_seen = jax.vmap(meet)(visits, remembered, obs.visible)
    view = View(obs, state.arrived, new, state.previous_actions)
    return eqx.tree_at(lambda s: s.last_seen, state, last_seen), view


def everybodys_truth(truth: Truth) -> Truth:
    """What happened, each slot being first in a row of its own."""
    slots = len(truth.actions)
    rows, shared = eqx.partition(truth, eqx.tree_at(lambda t: t.shared, jax.tree.map(lambda _: True, truth), False))
    viewers = jax.vmap(lambda viewer: jax.tree.map(lambda leaf: viewer_first(leaf, viewer), rows))(jnp.arange(slots))
    return eqx.combine(viewers, for_everybody(shared, slots))


def for_everybody(tree: Any, slots: int) -> Any:
    """The same for every slot."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (slots, *leaf.shape)), tree)


def merge(tree: Any) -> Any:
    """``[envs, slots, ...]`` as ``[rows, ...]``."""
    return jax.tree.map(lambda leaf: jax.lax.collapse(leaf, 0, 2), tree)
