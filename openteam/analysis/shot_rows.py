"""FortAttack's shots at every stored checkpoint of runs, and what they say over training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from openteam.analysis.compare import Comparison, Group
from openteam.analysis.series import Row, row_label, series
from openteam.analysis.shots import measure_shots
from openteam.errors import UserError
from openteam.storage.changes import short_class
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder
from openteam.worlds.fortattack import FortAttack

FEWEST = 3  # checkpoints of a run that a correlation needs
PAPERS_CORRELATION = 0.85


def fort_groups(comparison: Comparison) -> list[Group]:
    """Those of FortAttack; at least one."""
    found = [group for group in comparison.groups if is_fort(group.runs[0].config["task"])]
    if not found:
        names = ", ".join(comparison.tasks) or "none"
        raise UserError(f"Shots are fired in FortAttack, and none of these runs is of it; their tasks: {names}.")
    return found


def is_fort(task: dict[str, Any]) -> bool:
    """Whether a task's configuration has FortAttack's world."""
    return short_class(task.get("world", {}).get("class", "")) == FortAttack.__name__


def shot_rows(groups: Sequence[Group], *, episodes: int, seed: int = 0) -> Iterator[Row]:
    """A row for every checkpoint of every run, all on episodes with the same random numbers."""
    for group in groups:
        for run in group.runs:
            folder = RunFolder.open(run.path)
            task = folder.build("task")
            for checkpoint in folder.policies:
                metrics = measure_shots(load(checkpoint), task, episodes=episodes, seed=seed)
                yield row_label(group, run) | {"step": int(checkpoint.stem), "episodes": episodes} | metrics


def correlations(rows: Iterable[Row], metric: str = "scenario_1") -> Float[np.ndarray, "seeds"]:
    """Each seed's Pearson correlation of a metric with returns over its checkpoints; nan where one does not vary."""
    rows = list(rows)
    (steps, ours), (_, returns) = series(rows, metric), series([row for row in rows if metric in row], "return")
    if len(steps) < FEWEST:
        return np.zeros(0)
    return np.array([pearson(*pair) for pair in zip(ours, returns, strict=True)])


def pearson(one: Float[np.ndarray, "points"], other: Float[np.ndarray, "points"]) -> float:
    """Of two series of equal length; nan if one is constant."""
    one, other = one - one.mean(), other - other.mean()
    size = np.sqrt((one @ one) * (other @ other))
    return float(one @ other / size) if size > 0 else float("nan")


def halfway(steps: Int[np.ndarray, "checkpoints"], values: Float[np.ndarray, "checkpoints"]) -> int | None:
    """The first checkpoint from which on a series stays above the middle between its first and its highest value.

    None if it never rises. Compared between series, it says which of them rose first.
    """
    middle = (values[0] + values.max()) / 2
    below = np.flatnonzero(values <= middle)
    if values.max() <= values[0] or below[-1] + 1 == len(steps):
        return None
    return int(steps[below[-1] + 1])


def rises(rows: Iterable[Row]) -> list[tuple[int | None, int | None]]:
    """For each seed, when scenario 1 parted from scenario 2 and when the learner shot well, as ``halfway`` has it."""
    names = ("scenario_1", "scenario_2", "accuracy")
    rows = [row for row in rows if all(name in row for name in names)]  # without a shot there is no accuracy
    (steps, near), (_, far), (_, accuracy) = (series(rows, name) for name in names)
    if len(steps) < FEWEST:
        return []
    return [(halfway(steps, gap), halfway(steps, hits)) for gap, hits in zip(near - far, accuracy, strict=True)]
