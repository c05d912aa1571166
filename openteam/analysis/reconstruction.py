"""Beliefs judged on the same episodes, whoever holds them: nobody acts, everybody watches (paper, "Reconstruction").

Episodes are played once by one policy. Each checkpoint of each run then sees what that policy saw, is told what it did,
and is asked what it believes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.analysis.compare import Comparison, Group, Reading
from openteam.compile_cache import quick_jit
from openteam.core.belief import AbstractBeliever
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import TimeStep, Truth
from openteam.errors import UserError
from openteam.rollout.acting import Actor, act_and_step, start_actor
from openteam.rollout.belief_scores import METRICS, Sums, means, score
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder
from openteam.task import Task


class Story(eqx.Module):
    """Episodes side by side, as the learner saw them and as they were."""

    timesteps: TimeStep  # [time, episodes, ...]
    actions: Int[Array, "*time episodes"]
    truth: Truth
    going: Bool[Array, "*time episodes"]  # the episode was not over yet


@quick_jit
def witness(task: Task, policy: AbstractPolicy, key: Key[Array, ""], episodes: int) -> Story:
    """Episodes played by a policy."""
    k_start, k_steps = jax.random.split(key)

    def step(carry: tuple[Actor, Bool[Array, "episodes"]], number: Array) -> tuple[tuple, Story]:
        actor, going = carry
        keys = jax.random.split(jax.random.fold_in(k_steps, number), (episodes, 2))
        after, actions, truth = act_and_step(task, policy, actor, keys)
        return (after, going & ~after.timestep.ends), Story(actor.timestep, actions, truth, going)

    first = start_actor(task, policy, k_start, episodes), jnp.ones(episodes, bool)
    return jax.lax.scan(step, first, jnp.arange(task.horizon))[1]


@quick_jit
def judge(policy: AbstractBeliever, story: Story, key: Key[Array, ""]) -> Sums:
    """What a policy would have believed, step by step, against what was true."""
    episodes, slots = story.truth.exists.shape[1:]
    memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (episodes, *leaf.shape)), policy.start(slots))

    def step(memory: Any, now: tuple[Story, Array]) -> tuple[Any, Sums]:
        then, number = now
        keys, seen = jax.random.split(jax.random.fold_in(key, number), episodes), then.timesteps
        _, memory, belief = jax.vmap(policy.reveal)(keys, memory, seen.obs, seen.fresh)
        sums = jax.vmap(score)(belief, then.truth, seen.obs.visible)
        sums = jax.tree.map(lambda leaf: jnp.where(then.going, leaf, 0).sum(), sums)
        return jax.vmap(policy.having_done)(memory, then.actions), sums

    return jax.lax.scan(step, memory, (story, jnp.arange(len(story.actions))))[1]


def reconstruct(
    task: Task, groups: Sequence[Group], player: AbstractPolicy, *, episodes: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """A row for every checkpoint of every run: its algorithm, seed, step and scores."""
    k_play, k_judge = jax.random.split(make_key(seed))
    story = witness(task, player, k_play, episodes)
    for group in groups:
        for run in group.runs:
            for checkpoint in RunFolder(run.path).checkpoints:
                policy = load(checkpoint)
                if not isinstance(policy, AbstractBeliever):
                    break
                yield whose(group, run) | {"step": int(checkpoint.stem)} | means(judge(policy, story, k_judge))


def logged(groups: Sequence[Group]) -> Iterator[dict[str, Any]]:
    """The same rows as each run wrote them while it trained, of episodes that it played itself."""
    for group in groups:
        for run in group.runs:
            for row in RunFolder(run.path).rows("beliefs.jsonl"):
                yield whose(group, run) | {name: row[name] for name in ("step", *METRICS) if name in row}


def whose(group: Group, run: Reading) -> dict[str, Any]:
    """What a row is about."""
    return {"task": group.task.name, "algorithm": group.shown, "seed": run.config["seed"]}


def best_run(comparison: Comparison) -> Path:
    """The run with the highest mean return on train at any checkpoint: the paper's choice of who plays."""
    runs = [run for group in comparison.groups for run in group.runs]
    with_policy = [run for run in runs if RunFolder(run.path).checkpoints]
    if not with_policy:
        raise UserError("None of these runs has a checkpoint.")
    return max(with_policy, key=lambda run: max(run.returns["train"].values())).path
