"""Queues in a random order, by comparing: sorting is dear where every step of every environment does it."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Shaped


def rank_among(order: Shaped[Array, "members"], eligible: Bool[Array, "members"]) -> Int[Array, "members"]:
    """The place of each eligible member in a queue ordered by ``order``; a huge number for all others."""
    ahead = (order[None, :] < order[:, None]) | ((order[None, :] == order[:, None]) & earlier(len(order)))
    return jnp.where(eligible, (ahead & eligible[None, :]).sum(1), jnp.iinfo(jnp.int32).max)


def earlier(n: int) -> Bool[Array, "n n"]:
    """Entry (j, k) is whether k comes before j."""
    return jnp.arange(n)[None, :] < jnp.arange(n)[:, None]
