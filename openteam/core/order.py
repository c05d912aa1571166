"""Ranks by comparison: in every step of every environment, and for the few members of a team, faster than sorting."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Shaped


def rank_among(order: Shaped[Array, "members"], eligible: Bool[Array, "members"]) -> Int[Array, "members"]:
    """The rank, from 0, of each eligible member when sorted by ``order``; the largest integer for all others."""
    ahead = (order[None, :] < order[:, None]) | ((order[None, :] == order[:, None]) & earlier(len(order)))
    return jnp.where(eligible, (ahead & eligible[None, :]).sum(1), jnp.iinfo(jnp.int32).max)


def earlier(n: int) -> Bool[Array, "n n"]:
    """The mask of pairs (j, k) with k < j: among equals the first one wins."""
    return jnp.arange(n)[None, :] < jnp.arange(n)[:, None]
