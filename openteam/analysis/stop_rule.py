"""The released code's stop rule: all stop as soon as the first of 16 environments has finished its fifth episode.

So short episodes are counted more often than long ones, which matters where episodes end early when they are lost.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

ENVS, EPISODES = 16, 5
REPEATS = 256


def finished_returns(
    rewards: Float[np.ndarray, "time envs"], ends: Bool[np.ndarray, "time envs"], episodes: int
) -> Float[np.ndarray, "finished"]:
    """Returns of all episodes that were over when the first environment had finished this many."""
    stop = np.flatnonzero((ends.cumsum(0) == episodes).any(1))[0]
    totals = rewards[: stop + 1].cumsum(0)
    by_env = (np.diff(totals[over, env], prepend=0.0) for env, over in enumerate(ends[: stop + 1].T))
    return np.concatenate(list(by_env))


def as_released(returns: Float[np.ndarray, "episodes"], lengths: Float[np.ndarray, "episodes"]) -> float:
    """The mean return that the rule would have reported, over many evaluations drawn from these episodes.

    Episodes are independent of each other, so five of them in a row are any five.
    """
    drawn = np.random.default_rng(0).integers(len(returns), size=(REPEATS, ENVS, EPISODES))
    over = lengths[drawn].cumsum(-1)
    counts = over <= over[..., -1].min(1)[:, None, None]
    return float(((returns[drawn] * counts).sum((1, 2)) / counts.sum((1, 2))).mean())
