"""Compiled steps of the learner among a task's teammates, of one environment and of many at once.

A seed gives a sequence of episodes: ``reset`` with a seed begins its first, each one without the next. All random
numbers are those of the seed, the episode and the step, so an environment among many plays as it would alone.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from openteam.compile_cache import quick_jit
from openteam.core.random import key as make_key
from openteam.core.types import TimeStep
from openteam.task import EnvState, Task


class Playing(eqx.Module):
    """An environment in the middle of an episode."""

    root: Key[Array, "*batch"]  # of all its episodes
    episode: Int[Array, "*batch"]
    env: EnvState


def root_of(rng: np.random.Generator) -> Key[Array, ""]:
    """The root of an environment's random numbers, by a generator that may have been seeded with any number."""
    return make_key(int(rng.integers(2**32)))


def step_key(root: Key[Array, ""], episode: Int[Array, ""], step: Int[Array, ""]) -> Key[Array, ""]:
    """For one step of an episode; step 0 begins it."""
    return jax.random.fold_in(jax.random.fold_in(root, episode), step)


def begin(task: Task, root: Key[Array, ""], episode: Int[Array, ""]) -> tuple[Playing, TimeStep]:
    """An episode from its start."""
    env, timestep = task.reset(step_key(root, episode, jnp.zeros((), jnp.int32)))
    return Playing(root, episode, env), timestep


def proceed(task: Task, playing: Playing, action: Int[Array, ""]) -> tuple[Playing, TimeStep]:
    """One step that stays in its episode, also where that ends."""
    key = step_key(playing.root, playing.episode, playing.env.clock + 1)
    env, timestep, _ = task.step_within(key, playing.env, action)
    return Playing(playing.root, playing.episode, env), timestep


def proceed_or_restart(task: Task, playing: Playing, action: Int[Array, ""]) -> tuple[Playing, TimeStep]:
    """One step; an episode that ends is followed by the next one."""
    after, timestep = proceed(task, playing, action)
    restarted, opening = begin(task, playing.root, playing.episode + 1)
    (env, episode), view = jax.tree.map(
        lambda new, old: jnp.where(timestep.ends, new, old),
        ((restarted.env, restarted.episode), opening.view),
        ((after.env, after.episode), timestep.view),
    )
    return Playing(playing.root, episode, env), eqx.tree_at(lambda t: t.view, timestep, view)


begin_one = quick_jit(begin)
proceed_one = quick_jit(proceed)


@quick_jit
def begin_many(task: Task, roots: Key[Array, "envs"], episodes: Int[Array, "envs"]) -> tuple[Playing, TimeStep]:
    """The same in every environment."""
    return jax.vmap(lambda root, episode: begin(task, root, episode))(roots, episodes)


@quick_jit
def proceed_many(task: Task, playing: Playing, actions: Int[Array, "envs"]) -> tuple[Playing, TimeStep]:
    """One step of every environment, with new episodes where they end."""
    return jax.vmap(lambda one, action: proceed_or_restart(task, one, action))(playing, actions)
