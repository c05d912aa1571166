"""Chunks seen step by step."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

from openteam.core.types import Chunk, TimeStep


def over_chunk(function: Any, *common: Any) -> Any:
    """Apply what is written for one step of one environment to ``[time, envs, ...]``, first arguments in common."""
    return jax.vmap(jax.vmap(partial(function, *common)))


def acted_on(chunk: Chunk) -> TimeStep:
    """Where each action was chosen."""
    return jax.tree.map(lambda leaf: leaf[:-1], chunk.timesteps)


def led_to(chunk: Chunk) -> TimeStep:
    """Where each action led."""
    return jax.tree.map(lambda leaf: leaf[1:], chunk.timesteps)
