"""Learners with each teammate type alone, and how good that is between a random learner and the best response."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from openteam.analysis.compare import Group
from openteam.analysis.skills import play_type, types_of
from openteam.analysis.team_sizes import with_team_of
from openteam.errors import UserError
from openteam.rollout.episodes import evaluate
from openteam.storage.policies import load
from openteam.task import Task
from openteam.teammates.only import Only
from openteam.teammates.uniform import UniformRandom

RANDOM, BEST = "random learner", "best response"
Row = dict[str, Any]


def alone(task: Task, split: str, name: str) -> Task:
    """The task with the pool of a split reduced to the type of that name."""
    pool = task.split(split).pool
    for family in pool.families:
        if name in family.names:
            only = Only(family=family, number=jnp.asarray(family.names.index(name), jnp.int32))
            return dataclasses.replace(task, pool=dataclasses.replace(pool, families=(only,)), splits={})
    raise UserError(f"There is no type '{name}' on split '{split}' of {task.name}.")


def crossplay_rows(
    task: Task, groups: Sequence[Group], sizes: Sequence[int], *, episodes: int, seed: int = 0
) -> Iterator[Row]:
    """Mean returns: a row per learner, seed, type and size. Learners are runs, scripts and a random one."""
    types = list(types_of(task))
    for size in sizes:
        for kind in types:
            team = alone(with_pools(with_team_of(task, size), task), kind.split, kind.name)
            place = {"type": kind.name, "split": kind.split, "size": size}
            random = evaluate(UniformRandom(), team, episodes=episodes, seed=seed).mean
            yield place | {"learner": RANDOM, "kind": "random", "seed": 0, "return": random}
            for script in types:
                played = play_type(script.policy, team, episodes).mean
                yield place | {"learner": script.name, "kind": "script", "seed": 0, "return": played}
            for group in groups:
                yield from (place | row for row in runs_in(group, team, episodes, seed))


def with_pools(team: Task, task: Task) -> Task:
    """A task of another size with the pools of all splits."""
    pools = {name: dataclasses.replace(split, openness=None) for name, split in task.splits.items() if split.pool}
    return dataclasses.replace(team, splits=pools)


def runs_in(group: Group, team: Task, episodes: int, seed: int) -> Iterator[Row]:
    """A group's last checkpoints in a team; nothing of those that cannot be in it."""
    for run in group.runs:
        row = {"learner": group.shown, "kind": "run", "seed": run.config["seed"], "run": str(run.path)}
        try:
            yield row | {"return": evaluate(load(run.path), team, episodes=episodes, seed=seed).mean}
        except UserError as error:
            yield row | {"why": str(error)}


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Mean returns over seeds, and the same between random (0) and best response (1); nan where there is none."""

    learners: list[str]
    places: list[tuple[str, int]]
    """Type and team size."""
    returns: np.ndarray  # [learners, places]
    random: np.ndarray  # [places]
    best: np.ndarray  # [places]
    best_names: list[str]

    @property
    def normalised(self) -> np.ndarray:
        room = self.best - self.random
        return np.where(room > 0, (self.returns - self.random) / np.where(room > 0, room, 1), np.nan)


def matrix_of(rows: Sequence[Row]) -> Matrix:
    """The best response to a type in a team is whoever did best there: runs, as a mean over seeds, or a script."""
    means = mean_returns(rows)
    learners = list(dict.fromkeys(row["learner"] for row in rows if row["kind"] == "run"))
    scripts = list(dict.fromkeys(row["learner"] for row in rows if row["kind"] == "script"))
    places = list(dict.fromkeys((row["type"], row["size"]) for row in rows))
    best_names = [
        max((name for name in (*learners, *scripts) if (name, *place) in means), key=lambda name: means[name, *place])
        for place in places
    ]
    table = np.array([[means.get((name, *place), np.nan) for place in places] for name in learners])
    best = np.array([means[name, *place] for name, place in zip(best_names, places, strict=True)])
    return Matrix(
        learners, places, table.reshape(len(learners), len(places)),
        np.array([means[RANDOM, *place] for place in places]), best, best_names,
    )  # fmt: skip


def mean_returns(rows: Sequence[Row]) -> dict[tuple[str, str, int], float]:
    """By learner, type and size; over seeds."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        if "return" in row:
            found.setdefault((row["learner"], row["type"], row["size"]), []).append(row["return"])
    return {key: float(np.mean(values)) for key, values in found.items()}
