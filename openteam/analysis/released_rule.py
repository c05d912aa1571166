"""Evaluations as the released code does them, for comparison with published numbers; see ``stop_rule``.

``evaluate`` counts every episode once.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Bool, Float

from openteam.analysis.stop_rule import ENVS, EPISODES, finished_returns
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.rollout.episodes import Step, play
from openteam.task import Task


def evaluate_as_released(
    policy: AbstractPolicy, task: Task, *, repeats: int = 64, seed: int = 0
) -> Float[np.ndarray, "repeats"]:
    """The mean return that each of several independent evaluations would have reported."""
    played = play(task, policy, make_key(seed), repeats * ENVS, keep_outcome, steps=EPISODES * task.horizon)
    rewards, ends = (np.split(np.asarray(part), repeats, axis=1) for part in played.kept)
    return np.array([np.mean(finished_returns(*each, EPISODES)) for each in zip(rewards, ends, strict=True)])


def keep_outcome(step: Step) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """The reward, and whether an episode ended."""
    return step.timestep.reward, step.timestep.ends
