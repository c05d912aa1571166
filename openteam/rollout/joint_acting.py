"""Joint training: every slot of a task is the learner, and nobody comes from the pool.

One policy acts for all, each slot with its own view, memory and reward. To the learner's update this looks like any
other chunk: its rows are (environment, slot) pairs, each told from that slot's side, and ``Truth.exists[..., 0]`` says
whether the row's agent was there at all.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.types import Observation, TimeStep, Truth
from openteam.core.view import viewer_first
from openteam.rollout.acting import Act, Actor, act_and_step, start_memory
from openteam.task import EnvState, Task
from openteam.teammates.pool import AbstractFamily, Pool


class Told(AbstractPolicy):
    """Does what was written into its memory."""

    def start(self, slots: int) -> Int[Array, ""]:
        del slots
        return jnp.zeros((), jnp.int32)

    def act(
        self, key: Key[Array, ""], memory: Int[Array, ""], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], Int[Array, ""]]:
        del key, obs, fresh
        return memory, memory


class Puppets(AbstractFamily):
    """The pool of joint training: teammates whose actions are given."""

    names: tuple[str, ...] = eqx.field(static=True, default=("puppet",))

    def member(self, index: Int[Array, ""]) -> Told:
        del index
        return Told()


def with_puppets(task: Task) -> Task:
    """The same task with everybody's actions given."""
    return dataclasses.replace(task, pool=Pool((Puppets(),)), splits={})


def start_joint_actor(task: Task, policy: AbstractPolicy, key: Key[Array, ""], envs: int) -> Actor:
    """Fresh episodes, seen by everybody."""
    env, timestep = jax.vmap(lambda k: reset_together(with_puppets(task), k))(jax.random.split(key, envs))
    return Actor(env, merge(timestep), start_memory(policy, task.slots, envs * task.slots))


def act_together(
    task: Task, policy: AbstractPolicy, actor: Actor, keys: Key[Array, "envs 2"]
) -> tuple[Actor, Array, Truth]:
    """One step of every environment, in which the learner acts for all."""
    envs = len(keys)
    act_keys = jax.vmap(lambda key: jax.random.split(key, task.slots))(keys[:, 0]).reshape(-1)
    timestep = actor.timestep
    actions, memory = jax.vmap(policy.act)(act_keys, actor.memory, timestep.obs, timestep.fresh)
    step = jax.vmap(lambda key, env, chosen: step_together(with_puppets(task), key, env, chosen))
    env, timestep, truth = step(keys[:, 1], actor.env, actions.reshape(envs, task.slots))
    return Actor(env, merge(timestep), memory), actions, merge(truth)


def way_of_acting(learner: AbstractLearner) -> Act:
    """How a learner collects: for everybody, or for the learner's slot alone."""
    return act_together if learner.joint else act_and_step


def reset_together(task: Task, key: Key[Array, ""]) -> tuple[EnvState, TimeStep]:
    """A new episode; the time step has one leading row per slot."""
    k_reset, k_look = jax.random.split(key)
    state, timestep = task.reset(k_reset)
    obs = everybody_looks(task, k_look, state)
    timestep = for_everybody(timestep, task.slots)
    return state, eqx.tree_at(lambda t: (t.obs, t.final_obs), timestep, (obs, obs))


def step_together(
    task: Task, key: Key[Array, ""], state: EnvState, actions: Int[Array, "slots"]
) -> tuple[EnvState, TimeStep, Truth]:
    """One step with everybody's actions given, told from every slot's side; a closed episode is followed by a new one.

    For whoever leaves, the game is over: nothing can be expected after its last transition, so its discount is 0.
    """
    k_advance, k_reset, k_final, k_look = jax.random.split(key, 4)
    state = eqx.tree_at(lambda s: s.memory, state, (actions,))
    final, learners, truth = task.advance(k_advance, state, actions[0])
    restarted, _ = task.reset(k_reset)
    after = jax.tree.map(lambda new, old: jnp.where(learners.ends, new, old), restarted, final)
    stays = truth.exists & final.world.present & ~learners.joined
    slots = jnp.arange(task.slots)
    # A newcomer is new to all and all are new to it.
    joined = learners.joined[None, :] | learners.joined[:, None]
    timestep = TimeStep(
        obs=everybody_looks(task, k_look, after),
        reward=truth.rewards,
        discount=learners.discount * stays,
        starts=jnp.broadcast_to(learners.ends, stays.shape),
        ends=jnp.broadcast_to(learners.ends, stays.shape),
        joined=jax.vmap(viewer_first)(joined, slots),
        final_obs=everybody_looks(task, k_final, final),
    )
    return after, timestep, everybodys_truth(truth)


def everybody_looks(task: Task, key: Key[Array, ""], state: EnvState) -> Observation:
    """What each slot sees through the task's view, itself first."""
    keys = jax.random.split(key, task.slots)
    return jax.vmap(lambda k, viewer: task.view(k, task.world, state.world, viewer))(keys, jnp.arange(task.slots))


def everybodys_truth(truth: Truth) -> Truth:
    """What happened, each slot being first in a row of its own."""
    slots = len(truth.actions)
    rows, shared = eqx.partition(truth, eqx.tree_at(lambda t: t.shared, jax.tree.map(lambda _: True, truth), False))
    turned = jax.vmap(lambda viewer: jax.tree.map(lambda leaf: viewer_first(leaf, viewer), rows))(jnp.arange(slots))
    return eqx.combine(turned, for_everybody(shared, slots))


def for_everybody(tree: Any, slots: int) -> Any:
    """The same for every slot."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (slots, *leaf.shape)), tree)


def merge(tree: Any) -> Any:
    """``[envs, slots, ...]`` as ``[rows, ...]``."""
    return jax.tree.map(lambda leaf: jax.lax.collapse(leaf, 0, 2), tree)
