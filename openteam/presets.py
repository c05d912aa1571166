"""Algorithms by name: plain values, to be changed field by field."""

from __future__ import annotations

from collections.abc import Callable

from openteam.algorithms import GPL, QLearning, SoftPolicyIteration
from openteam.algorithms.ippo import IPPO
from openteam.core.learner import AbstractLearner


def gpl_q() -> AbstractLearner:
    """Graph-based Policy Learning with Q-learning: greedy, explores by chance."""
    return GPL(rule=QLearning())


def gpl_spi() -> AbstractLearner:
    """Graph-based Policy Learning with soft policy iteration: explores by a temperature that falls."""
    return GPL(rule=SoftPolicyIteration())


def ippo() -> AbstractLearner:
    """Independent PPO: one policy trained in all slots at once; it makes the learned teammates."""
    return IPPO()


ALGORITHMS: dict[str, Callable[[], AbstractLearner]] = {"gpl-q": gpl_q, "gpl-spi": gpl_spi, "ippo": ippo}
