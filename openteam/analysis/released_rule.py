"""How the released code evaluates: all stop as soon as the first environment has finished its fifth episode.

So short episodes are counted more often than long ones, which matters where episodes end early when they are lost. For
comparison with published numbers only; ``evaluate`` counts every episode once.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Bool, Float

from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.rollout.episodes import Step, play
from openteam.task import Task

ENVS, EPISODES = 16, 5


def evaluate_as_released(
    policy: AbstractPolicy, task: Task, *, repeats: int = 64, seed: int = 0
) -> Float[np.ndarray, "repeats"]:
    """The mean return that each of several independent evaluations would have reported."""
    played = play(task, policy, make_key(seed), repeats * ENVS, keep_outcome, steps=EPISODES * task.horizon)
    rewards, ends = (np.split(np.asarray(part), repeats, axis=1) for part in played.kept)
    return np.array([np.mean(finished_returns(*each, EPISODES)) for each in zip(rewards, ends, strict=True)])


def finished_returns(
    rewards: Float[np.ndarray, "time envs"], ends: Bool[np.ndarray, "time envs"], episodes: int
) -> Float[np.ndarray, "finished"]:
    """Returns of all episodes that were over when the first environment had finished this many."""
    stop = np.flatnonzero((ends.cumsum(0) == episodes).any(1))[0]
    totals = rewards[: stop + 1].cumsum(0)
    by_env = (np.diff(totals[over, env], prepend=0.0) for env, over in enumerate(ends[: stop + 1].T))
    return np.concatenate(list(by_env))


def keep_outcome(step: Step) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """The reward, and whether an episode ended."""
    return step.timestep.reward, step.timestep.ends
