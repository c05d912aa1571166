"""Acting in a task: the one place where environments are batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PyTree

from openteam.core.policy import AbstractPolicy
from openteam.core.types import Chunk, TimeStep, Truth
from openteam.task import Task


class Actor(eqx.Module):
    """A learner in the middle of its episodes.

    Arrays of ``env`` have a leading ``envs`` axis, all others a leading ``rows`` axis. A row is whoever acts as the
    learner: one agent per environment, or in joint training everybody.
    """

    env: Any  # an EnvState, or a HostState
    timestep: TimeStep
    memory: PyTree[Any]


def start_actor(task: Task, policy: AbstractPolicy, key: Key[Array, ""], envs: int) -> Actor:
    """New episodes."""
    env, timestep = jax.vmap(task.reset)(jax.random.split(key, envs))
    return Actor(env, timestep, start_memory(policy, task.slots, envs))


def start_memory(policy: AbstractPolicy, slots: int, rows: int) -> PyTree[Any]:
    """Blank memories, one per row."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (rows, *leaf.shape)), policy.start(slots))


def act_and_step(
    task: Task, policy: AbstractPolicy, actor: Actor, keys: Key[Array, "envs 2"]
) -> tuple[Actor, Array, Truth]:
    """One step of every environment: the actor after it, the learner's actions, and what really happened."""
    actions, memory = jax.vmap(policy.act)(keys[:, 0], actor.memory, actor.timestep.view)
    env, timestep, truth = jax.vmap(task.step)(keys[:, 1], actor.env, actions)
    return Actor(env, timestep, memory), actions, truth


Act = Callable[[Task, AbstractPolicy, Actor, Array], tuple[Actor, Array, Truth]]


def collect(
    task: Task, policy: AbstractPolicy, actor: Actor, key: Key[Array, ""], steps: int, act: Act = act_and_step
) -> tuple[Actor, Chunk]:
    """Act for a few steps with a fixed policy and keep everything."""
    envs = len(actor.env.previous_actions)
    keys = jax.random.split(key, (steps, envs, 2))

    def step(actor: Actor, keys: Array) -> tuple[Actor, tuple]:
        after, actions, truth = act(task, policy, actor, keys)
        return after, (actor.timestep, actions, truth, after.memory)

    last, (timesteps, actions, truth, memory) = jax.lax.scan(step, actor, keys)
    sequence = jax.tree.map(lambda t, end: jnp.concatenate([t, end[None]]), timesteps, last.timestep)
    return last, Chunk(sequence, actions, truth, actor.memory, memory)
