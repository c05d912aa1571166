"""Whole episodes with a frozen policy: one scan, whatever is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.compile_cache import quick_jit
from openteam.core.policy import AbstractPolicy, Decision
from openteam.core.random import key as make_key
from openteam.core.types import TimeStep, Truth, View
from openteam.errors import UserError
from openteam.host.task import HostTask
from openteam.rollout.acting import Actor, start_actor
from openteam.rollout.host_acting import play_on_host
from openteam.task import EnvState, Task

BATCH = 256


class Episodes:
    """Returns and lengths of finished episodes, and a word for what was played."""

    def __init__(self, returns: np.ndarray, lengths: np.ndarray, label: str = ""):
        self.returns = returns
        self.lengths = lengths
        self.label = label

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

    def __repr__(self) -> str:
        label = f"{self.label}: " if self.label else ""
        interval = "" if len(self.returns) < 2 else f" ± {self.interval:.3f}, 95 % interval"
        return f"Episodes({label}return {self.mean:.3f}{interval} over {len(self.returns)} episodes)"


def evaluate(policy: AbstractPolicy, task: Task | HostTask, *, episodes: int = 480, seed: int = 0) -> Episodes:
    """Exactly ``episodes`` episodes, each from its own start, so that short ones are not counted more often."""
    if episodes < 1:
        raise UserError(f"An evaluation needs at least 1 episode; got {episodes}.")
    check_not_traced(policy, task)
    if isinstance(task, HostTask):
        return Episodes(*play_on_host(policy, task, episodes, seed))
    batch = min(episodes, BATCH)
    parts = [
        play(task, policy, jax.random.fold_in(make_key(seed), number), batch) for number in range(-(-episodes // batch))
    ]
    returns = np.concatenate([np.asarray(part.returns) for part in parts])[:episodes]
    return Episodes(returns, np.concatenate([np.asarray(part.lengths) for part in parts])[:episodes])


def check_not_traced(policy: AbstractPolicy, task: Task | HostTask) -> None:
    """Raise inside ``jit``, ``vmap`` or ``grad``, where there are no numbers to return yet."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((policy, task, jnp.zeros(())))):
        raise UserError(
            "Episodes are played and returned as plain numbers, which do not exist inside jit, vmap or grad. Evaluate "
            "or record outside of them; what is played is compiled anyway."
        )


class Step(eqx.Module):
    """Everything about one step of one environment."""

    env: EnvState  # before the step
    view: View  # what the learner decided on
    decision: Decision
    after: EnvState  # within the episode, also where that ends
    timestep: TimeStep
    truth: Truth
    counts: Bool[Array, "*batch"]  # its first episode is not over yet


Keep = Callable[[Step], PyTree[Any]]


class Played(eqx.Module):
    """Episodes side by side: undiscounted returns, lengths, and what was kept of their steps."""

    returns: Float[Array, "episodes"]
    lengths: Int[Array, "episodes"]
    kept: PyTree[Any]  # [time, episodes, ...]


def keep_nothing(step: Step) -> tuple[()]:
    """Returns and lengths are enough."""
    del step
    return ()


@quick_jit
def play(
    task: Task,
    policy: AbstractPolicy,
    key: Key[Array, ""],
    count: int,
    keep: Keep = keep_nothing,
    *,
    steps: int | None = None,
) -> Played:
    """One episode in each of ``count`` environments, and of every step what ``keep`` makes of it.

    All are stepped for the task's horizon, or for ``steps`` steps; an ended episode is followed by another, and its
    steps do not count any more. ``keep`` sees one environment; whatever it does not use is not computed.
    """
    k_start, k_steps = jax.random.split(key)
    actor = start_actor(task, policy, k_start, count)

    def one(keys: Array, env: EnvState, view: View, memory: Any, counts: Array) -> tuple:
        k_step, k_reset = jax.random.split(keys[1])
        decision = policy.decide(keys[0], memory, view)
        after, timestep, truth = task.step_within(k_step, env, decision.action)
        return *task.restart(k_reset, after, timestep), Step(env, view, decision, after, timestep, truth, counts)

    def step(carry: tuple, number: Array) -> tuple:
        actor, returns, lengths, counts = carry
        keys = jax.random.split(jax.random.fold_in(k_steps, number), (count, 2))
        env, timestep, now = jax.vmap(one)(keys, actor.env, actor.timestep.view, actor.memory, counts)
        returns = returns + jnp.where(counts, timestep.reward, 0)
        carry = Actor(env, timestep, now.decision.memory), returns, lengths + counts, counts & ~timestep.ends
        return carry, jax.vmap(keep)(now)

    first = (actor, jnp.zeros(count), jnp.zeros(count, jnp.int32), jnp.ones(count, bool))
    (_, returns, lengths, _), kept = jax.lax.scan(step, first, jnp.arange(steps or task.horizon))
    return Played(returns, lengths, kept)
