"""How the released code evaluates: all stop as soon as the first environment has finished its fifth episode.

So short episodes are counted more often than long ones, which matters where episodes end early when they are lost. For
comparison with published numbers only; ``evaluate`` counts every episode once.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.rollout.acting import Actor, act_and_step, start_actor
from openteam.task import Task

ENVS, EPISODES = 16, 5


def evaluate_as_released(
    policy: AbstractPolicy, task: Task, *, repeats: int = 64, seed: int = 0
) -> Float[np.ndarray, "repeats"]:
    """The mean return that each of several independent evaluations would have reported."""
    played = play_on(task, policy, make_key(seed), repeats * ENVS, EPISODES * task.horizon)
    rewards, ends = (np.split(np.asarray(part), repeats, axis=1) for part in played)
    return np.array([np.mean(finished_returns(*each, EPISODES)) for each in zip(rewards, ends, strict=True)])


def finished_returns(
    rewards: Float[np.ndarray, "time envs"], ends: Bool[np.ndarray, "time envs"], episodes: int
) -> Float[np.ndarray, "finished"]:
    """Returns of all episodes that were over when the first environment had finished so many."""
    stop = np.flatnonzero((ends.cumsum(0) == episodes).any(1))[0]
    totals = rewards[: stop + 1].cumsum(0)
    by_env = (np.diff(totals[over, env], prepend=0.0) for env, over in enumerate(ends[: stop + 1].T))
    return np.concatenate(list(by_env))


@eqx.filter_jit
def play_on(
    task: Task, policy: AbstractPolicy, key: Key[Array, ""], envs: int, steps: int
) -> tuple[Float[Array, "time envs"], Bool[Array, "time envs"]]:
    """One episode after the other in every environment: rewards, and where an episode ended."""
    k_start, k_steps = jax.random.split(key)

    def step(actor: Actor, number: Array) -> tuple[Actor, tuple[Array, Array]]:
        keys = jax.random.split(jax.random.fold_in(k_steps, number), (envs, 2))
        actor, _, _ = act_and_step(task, policy, actor, keys)
        return actor, (actor.timestep.reward, actor.timestep.ends)

    return jax.lax.scan(step, start_actor(task, policy, k_start, envs), jnp.arange(steps))[1]
