"""Whole episodes with a frozen policy."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.compile_cache import quick_jit
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.errors import UserError
from openteam.rollout.acting import Actor, act_and_step, start_actor
from openteam.task import Task

BATCH = 256


class Episodes:
    """Returns and lengths of finished episodes."""

    def __init__(self, returns: np.ndarray, lengths: np.ndarray):
        self.returns = returns
        self.lengths = lengths

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def interval(self) -> float:
        """Half the width of the mean's 95 % confidence interval over episodes."""
        if len(self.returns) < 2:
            return float("nan")
        return float(1.96 * self.returns.std(ddof=1) / len(self.returns) ** 0.5)

    def rows(self, step: int, split: str) -> Iterator[dict[str, object]]:
        for number, (value, length) in enumerate(zip(self.returns, self.lengths, strict=True)):
            yield {"step": step, "split": split, "episode": number, "return": float(value), "length": int(length)}

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.interval:.3f} ({len(self.returns)} episodes)"


def evaluate(policy: AbstractPolicy, task: Task, *, episodes: int = 480, seed: int = 0) -> Episodes:
    """Exactly ``episodes`` episodes, each from its own start, so that short ones are not counted more often."""
    if episodes < 1:
        raise UserError(f"An evaluation needs at least 1 episode; got {episodes}.")
    batch = min(episodes, BATCH)
    parts = [
        play(task, policy, jax.random.fold_in(make_key(seed), number), batch) for number in range(-(-episodes // batch))
    ]
    returns, lengths = (np.concatenate([np.asarray(part[i]) for part in parts])[:episodes] for i in range(2))
    return Episodes(returns, lengths)


@quick_jit
def play(
    task: Task, policy: AbstractPolicy, key: Key[Array, ""], envs: int
) -> tuple[Float[Array, "envs"], Int[Array, "envs"]]:
    """One episode in each environment: undiscounted returns and lengths."""
    k_start, k_steps = jax.random.split(key)
    actor = start_actor(task, policy, k_start, envs)

    def step(number: Array, state: tuple[Actor, Array, Array, Bool[Array, "envs"]]) -> tuple:
        actor, returns, lengths, going = state
        keys = jax.random.split(jax.random.fold_in(k_steps, number), (envs, 2))
        actor, _, _ = act_and_step(task, policy, actor, keys)
        returns = returns + jnp.where(going, actor.timestep.reward, 0)
        return actor, returns, lengths + going, going & ~actor.timestep.ends

    first = (actor, jnp.zeros(envs), jnp.zeros(envs, jnp.int32), jnp.ones(envs, bool))
    _, returns, lengths, _ = jax.lax.fori_loop(0, task.horizon, step, first)
    return returns, lengths
