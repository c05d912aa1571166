"""The hot path: collect, update, repeat, in one compiled program."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.compile_cache import traced_once
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.types import Chunk
from openteam.rollout.acting import Actor, collect, start_actor
from openteam.rollout.joint_acting import sides_of, start_joint_actor, way_of_acting
from openteam.task import Task


class Carry(eqx.Module):
    """Everything a run needs to go on from here."""

    train: TrainState
    actor: Actor
    context: PyTree[Any]
    returns: Float[Array, "envs"]  # of the episodes under way


@traced_once
def start_carry(task: Task, learner: AbstractLearner, key: Key[Array, ""]) -> Carry:
    """A run that has not begun."""
    k_init, k_actor = jax.random.split(key)
    train = learner.init(k_init, task.spec)
    policy = learner.policy(train.model, jnp.zeros(()))
    start = start_joint_actor if learner.joint else start_actor
    actor = start(task, policy, k_actor, learner.envs)
    context = start_context(learner, train, task.slots, len(actor.timestep.reward))
    return Carry(train, actor, context, jnp.zeros(learner.envs))


def start_context(learner: AbstractLearner, train: TrainState, slots: int, rows: int) -> PyTree[Any]:
    """What updates remember, before the first chunk."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (rows, *leaf.shape)), learner.context(train, slots))


@traced_once
def one_update(
    task: Task, learner: AbstractLearner, carry: Carry, keys: Key[Array, "2"], progress: Float[Array, ""]
) -> tuple[Carry, Metrics]:
    """Collect one chunk with the first key and learn from it with the second."""
    policy = learner.policy(carry.train.model, progress)
    actor, chunk = collect(task, policy, carry.actor, keys[0], learner.update_every, way_of_acting(learner))
    return learn_from(learner, carry, actor, chunk, keys[1], progress)


def learn_from(
    learner: AbstractLearner, carry: Carry, actor: Actor, chunk: Chunk, key: Key[Array, ""], progress: Float[Array, ""]
) -> tuple[Carry, Metrics]:
    """Learn from a chunk, however it was collected; ``actor`` is where collecting it ended."""
    train, context, metrics = learner.update(key, carry.train, carry.context, chunk, progress)
    returns, episodes = finished_returns(carry.returns, *learners_rewards(chunk, learner))
    return Carry(train, actor, context, returns), metrics | episodes


def learners_rewards(
    chunk: Chunk, learner: AbstractLearner
) -> tuple[Float[Array, "time envs"], Bool[Array, "time envs"]]:
    """The learner's reward in each environment and whether that closed an episode; jointly, the sum over its side."""
    time, rows = chunk.actions.shape
    shape = time, learner.envs, rows // learner.envs
    rewards, ends = chunk.next_timesteps.reward.reshape(shape), chunk.next_timesteps.ends.reshape(shape)
    return rewards[..., : sides_of(learner).size(shape[-1])].sum(-1), ends[..., 0]


def finished_returns(
    returns: Float[Array, "envs"], rewards: Float[Array, "time envs"], ends: Bool[Array, "time envs"]
) -> tuple[Float[Array, "envs"], Metrics]:
    """Returns of the episodes under way after a chunk, and the number and sum of those that ended in it."""

    def step(running: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, ends = now
        total = running + reward
        return jnp.where(ends, 0, total), jnp.where(ends, total, 0)

    returns, finished = jax.lax.scan(step, returns, (rewards, ends))
    return returns, {"episodes": ends.sum().astype(jnp.float32), "return_sum": finished.sum()}


def advance(
    task: Task,
    learner: AbstractLearner,
    carry: Carry,
    keys: Key[Array, "2"],
    count: Int[Array, ""],
    total: Int[Array, ""],
) -> tuple[Carry, Metrics]:
    """``count`` updates of a run of ``total``; metrics are sums over them. Stops early at a number that is not finite.

    ``keys`` are for collecting and for learning. Those of an update depend on its number alone, so a run cut into other
    pieces is the same run.
    """
    last = carry.train.updates + count

    def goes_on(state: tuple[Carry, Metrics]) -> Bool[Array, ""]:
        carry, sums = state
        return (carry.train.updates < last) & jnp.isfinite(sum(sums.values()))

    def body(state: tuple[Carry, Metrics]) -> tuple[Carry, Metrics]:
        carry, sums = state
        number = carry.train.updates
        carry, metrics = one_update(
            task, learner, carry, jax.vmap(jax.random.fold_in, (0, None))(keys, number), number / total
        )
        return carry, jax.tree.map(jnp.add, sums, metrics)

    shapes = jax.eval_shape(lambda c: one_update(task, learner, c, keys, jnp.zeros(()))[1], carry)
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return jax.lax.while_loop(goes_on, body, (carry, zeros))
