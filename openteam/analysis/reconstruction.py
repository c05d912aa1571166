"""Beliefs scored on the same episodes for all runs (paper, "Reconstruction Results").

Episodes are played once by one policy. Each checkpoint of each run then gets that policy's views, own actions included,
and its beliefs are compared with the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key

from openteam.analysis.compare import Comparison, Group
from openteam.analysis.series import row_label
from openteam.compile_cache import quick_jit
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import Truth, View
from openteam.errors import UserError
from openteam.rollout.acting import start_memory
from openteam.rollout.belief_scores import METRICS, WEIGHT_METRICS, Sums, belief_of, holds_belief, means, score
from openteam.rollout.episodes import Step, play
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder
from openteam.task import Task


class Watched(eqx.Module):
    """One step as the learner saw it and as it was."""

    view: View
    truth: Truth
    counts: Bool[Array, "*batch"]  # the episode was not over yet


def keep_watched(step: Step) -> Watched:
    """What beliefs are scored on."""
    return Watched(step.view, step.truth, step.counts)


@quick_jit
def score_beliefs(policy: AbstractPolicy, watched: Watched, key: Key[Array, ""]) -> Sums:
    """What a policy would have believed at each step of recorded episodes, ``[time, episodes]``, against the truth."""
    time, episodes, slots = watched.truth.exists.shape

    def step(memory: Any, now: tuple[Watched, Array]) -> tuple[Any, Sums]:
        then, number = now
        keys = jax.random.split(jax.random.fold_in(key, number), episodes)
        decision = jax.vmap(policy.decide)(keys, memory, then.view)
        belief = jax.vmap(belief_of)(decision.explanation, then.view)
        sums = jax.vmap(score)(belief, then.truth, then.view.obs.visible)
        return decision.memory, jax.tree.map(lambda leaf: jnp.where(then.counts, leaf, 0).sum(), sums)

    memory = start_memory(policy, slots, episodes)
    return jax.lax.scan(step, memory, (watched, jnp.arange(time)))[1]


def reconstruct(
    task: Task, groups: Sequence[Group], player: AbstractPolicy, *, episodes: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """A row for every checkpoint of every run: its algorithm, seed, step and scores."""
    k_play, k_score = jax.random.split(make_key(seed))
    watched = play(task, player, k_play, episodes, keep_watched).kept
    for group in groups:
        for run in group.runs:
            for checkpoint in RunFolder(run.path).policies:
                policy = load(checkpoint)
                if not holds_belief(policy, task):
                    break
                scores = means(score_beliefs(policy, watched, k_score))
                yield row_label(group, run) | {"step": int(checkpoint.stem)} | scores


def logged(groups: Sequence[Group]) -> Iterator[dict[str, Any]]:
    """The same rows as each run wrote them while it trained, of episodes that it played itself."""
    for group in groups:
        for run in group.runs:
            for row in RunFolder(run.path).rows_of_checkpoints("beliefs.jsonl"):
                scores = {name: row[name] for name in (*METRICS, *WEIGHT_METRICS) if name in row}
                yield row_label(group, run) | {"step": row["step"]} | scores


def best_run(comparison: Comparison) -> Path:
    """The run with the highest mean return on train at any checkpoint: the paper's choice of who plays."""
    runs = [run for group in comparison.groups for run in group.runs]
    with_policy = [run for run in runs if RunFolder(run.path).policies]
    if not with_policy:
        raise UserError("None of these runs has a policy.")
    return max(with_policy, key=lambda run: max(run.returns["train"].values())).path
