"""A comparison in the layout that marl-eval reads: environment, task, algorithm, run, step, metric, episodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from openteam.analysis.compare import At, Comparison, Group, Reading
from openteam.storage.changes import short_class

METRICS = ("return", "length")


def marl_eval_data(comparison: Comparison, at: At) -> dict[str, Any]:
    """Finished runs: every episode of every checkpoint that all seeds have.

    An environment is a world, a task is one of ours on one of its splits; names are in small letters, as marl-eval
    looks for them. ``absolute_metrics``, for which marl-eval would play ten times as many episodes with the best
    policy, are those of the checkpoints that ``at`` chooses.
    """
    data: dict[str, Any] = {}
    for group in comparison.groups:
        for split in group.splits if group.finished else ():
            world = short_class(group.runs[0].config["task"]["world"]["class"]).lower()
            runs = data.setdefault(world, {}).setdefault(f"{group.task}/{split}".lower(), {})
            runs[group.shown] = {f"run_{run.config['seed']}": one_run(run, group, split, at) for run in group.runs}
    return data


def one_run(run: Reading, group: Group, split: str, at: At) -> dict[str, Any]:
    """Its checkpoints by number."""
    steps = {
        f"step_{number}": {"step_count": step} | metrics(run.episodes[split][step])
        for number, step in enumerate(group.checkpoints)
    }
    chosen = np.concatenate([run.episodes[split][step] for step in group.chosen(at)])
    return steps | {"absolute_metrics": metrics(chosen)}


def metrics(episodes: np.ndarray) -> dict[str, list[float]]:
    """A list per metric, an entry per episode."""
    return dict(zip(METRICS, episodes.T.tolist(), strict=True))
