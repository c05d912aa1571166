"""Policies in teams of other sizes than they were trained in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from openteam.analysis.compare import Group
from openteam.analysis.series import row_label
from openteam.core.openness import AbstractOpenness
from openteam.errors import UserError
from openteam.openness import Bernoulli, Casualties, Lifetimes
from openteam.rollout.episodes import evaluate
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder
from openteam.task import Task

SIZES = (3, 5, 7, 9, 20)


def with_team_of(task: Task, size: int) -> Task:
    """The same task with up to ``size`` agents on the learner's side: a split of the task if one has that size."""
    for name in ("train", "larger"):
        if name in task.split_names and learners_side(task.split(name).openness) == size:
            return task.split(name)
    largest = task.split("larger") if "larger" in task.split_names else task
    try:
        return dataclasses.replace(largest, openness=resized(largest.openness, size), splits={})
    except UserError as error:
        raise UserError(f"{task.name} has no teams of {size}: {error}") from None


def learners_side(openness: AbstractOpenness) -> int:
    """The largest team, learner included; opponents are no team."""
    return openness.team_size if isinstance(openness, Casualties) else openness.slots


def resized(openness: AbstractOpenness, size: int) -> AbstractOpenness:
    """An open process of the same kind. Lifetimes keep as many potential teammates without a slot as they had."""
    if isinstance(openness, Lifetimes):
        spare = openness.teammates - (openness.cap - 1)
        low = size if openness.start_low == openness.cap else min(openness.start_low, size)
        return dataclasses.replace(openness, cap=size, start_low=low, start_high=size, teammates=size - 1 + spare)
    if isinstance(openness, Bernoulli):
        return dataclasses.replace(openness, cap=size, start_with=min(openness.start_with, size))
    if isinstance(openness, Casualties):
        return dataclasses.replace(openness, team_size=size, guards=size, attackers=size)
    raise UserError(f"{type(openness).__name__} is of one size.")


def size_rows(
    groups: Sequence[Group], sizes: Sequence[int], *, episodes: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """A row per run and size, played by the last checkpoint on the same episodes; or why it cannot be played."""
    for group in groups:
        for run in group.runs:
            task, policy = RunFolder.open(run.path).build("task"), load(run.path)
            for size in sizes:
                row = row_label(group, run) | {"size": size, "run": str(run.path)}
                try:
                    played = evaluate(policy, with_team_of(task, size), episodes=episodes, seed=seed)
                except UserError as error:
                    yield row | {"why": str(error)}
                else:
                    yield row | {"return": played.mean}
