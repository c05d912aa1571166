"""Runs side by side: which belong together, at which checkpoint to look, and what they scored there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from openteam.algorithms.presets import ALGORITHMS
from openteam.analysis.labels import Label, Labels
from openteam.analysis.statistics import bootstrap_interval, interquartile_mean, mean_interval
from openteam.analysis.stop_rule import as_released
from openteam.errors import UserError
from openteam.storage.run_folder import RunFolder, is_run
from openteam.tasks import TASKS

At = Literal["best", "last", "last-quarter"]


@dataclass(frozen=True)
class Reading:
    """What one run's files say: the mean return at each checkpoint that was evaluated to the end, by split."""

    path: Path
    config: dict[str, Any]
    returns: dict[str, dict[int, float]]
    episodes: dict[str, dict[int, Float[np.ndarray, "episodes 2"]]] = field(default_factory=dict)
    """Return and length of every episode, by split and checkpoint."""

    @property
    def finished(self) -> bool:
        return max(self.returns["train"]) >= self.config["settings"]["steps"]


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed."""

    task: Label
    algorithm: Label
    steps: int
    finished: bool
    runs: tuple[Reading, ...]
    shown: str = ""
    """What to call it among the others of its task."""

    @property
    def splits(self) -> list[str]:
        return list(self.runs[0].returns)

    @property
    def checkpoints(self) -> list[int]:
        """Those that all its runs have."""
        return sorted(set.intersection(*(set(run.returns["train"]) for run in self.runs)))

    def curves(self, split: str) -> Float[np.ndarray, "seeds checkpoints"]:
        return np.array([[run.returns[split][step] for step in self.checkpoints] for run in self.runs])

    def chosen(self, at: At) -> list[int]:
        """The checkpoints to look at. The best is the paper's: the one with the highest mean return on ``train``."""
        steps = self.checkpoints
        if at == "best":
            return [steps[int(self.curves("train").mean(0).argmax())]]
        trained = [step for step in steps if step > 0] or steps
        return trained[-max(1, round(len(trained) / 4)) :] if at == "last-quarter" else trained[-1:]

    def scores(self, split: str, at: At, released: bool = False) -> Float[np.ndarray, "seeds"]:
        """Each seed's mean return at the chosen checkpoints, or what the released code's stop rule makes of it."""
        if released:
            return np.array(
                [np.mean([as_released(*run.episodes[split][step].T) for step in self.chosen(at)]) for run in self.runs]
            )
        columns = [self.checkpoints.index(step) for step in self.chosen(at)]
        return self.curves(split)[:, columns].mean(1)

    def episodes(self, at: At) -> int:
        """Behind the figure of one split, over all seeds."""
        return sum(run.config["settings"]["evaluation_episodes"] for run in self.runs) * len(self.chosen(at))

    def estimate(self, split: str, at: At, released: bool = False) -> tuple[float, float]:
        """Mean over seeds and half its 95 % interval, nan with one seed."""
        mean, half = mean_interval(self.scores(split, at, released))
        return float(mean), float(half)


@dataclass(frozen=True)
class Comparison:
    """Groups, sorted by task and algorithm, and a sentence about every run that is in none."""

    groups: tuple[Group, ...]
    left_out: tuple[str, ...]

    @property
    def tasks(self) -> dict[str, list[Group]]:
        found: dict[str, list[Group]] = defaultdict(list)
        for group in self.groups:
            found[str(group.task)].append(group)
        return dict(found)

    def splits(self, task: str) -> list[str]:
        return list(dict.fromkeys(split for group in self.tasks[task] for split in group.splits))

    @property
    def all_splits(self) -> list[str]:
        return list(dict.fromkeys(split for task in self.tasks for split in self.splits(task)))


def compare(paths: Sequence[Path]) -> Comparison:
    """Read all runs below the paths and put those together that differ only in their seed."""
    readings, left_out = [], []
    for path in find_runs(paths):
        try:
            readings.append(read_run(path))
        except UserError as error:
            left_out.append(str(error))
    groups, repeated = group_runs(readings)
    return Comparison(with_names(groups), (*left_out, *repeated))


def find_runs(paths: Iterable[Path]) -> list[Path]:
    """Every folder with a config.json, each once."""
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise UserError(f"There is no run at {path}.")
        configs = path.rglob("config.json") if path.is_dir() else ()
        below = sorted(config.parent for config in configs if is_run(config))
        if not below:
            raise UserError(f"There is no run in {path}: no folder with a config.json.")
        found |= {run.resolve(): run for run in below if run.resolve() not in found}
    return list(found.values())


def read_run(path: Path) -> Reading:
    """Mean returns at all checkpoints; a run at work may be in the middle of one, which does not count yet."""
    folder = RunFolder.open(path)
    config = folder.config
    try:
        episodes, steps = config["settings"]["evaluation_episodes"], config["settings"]["steps"]
        splits = config["settings"].get("evaluation_splits") or ["train", *config["task"]["splits"]]
        names = (config["task"]["name"], config["learner"]["class"])
        if not (isinstance(steps, int) and isinstance(config["seed"], int) and all(isinstance(n, str) for n in names)):
            raise TypeError
        played: dict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)
        for row in folder.rows_of_checkpoints("episodes.jsonl"):
            played[row["split"], row["step"]].append((float(row["return"]), int(row["length"])))
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{path} is damaged: its config.json or episodes.jsonl lacks what every run has.") from None
    steps = sorted({step for _, step in played})
    complete = [step for step in steps if all(len(played[split, step]) == episodes for split in splits)]
    if not complete:
        raise UserError(f"{path} has no evaluated checkpoint yet.")
    kept = {split: {step: np.array(played[split, step]) for step in complete} for split in splits}
    means = {split: {step: float(each[:, 0].mean()) for step, each in at.items()} for split, at in kept.items()}
    return Reading(path, config, means, kept)


def group_runs(readings: Iterable[Reading]) -> tuple[list[Group], list[str]]:
    """Runs by task, algorithm, length, and whether they came to their end; each seed once."""
    labels, repeated = Labels(), []
    found: dict[tuple[Label, Label, int, bool], dict[int, Reading]] = defaultdict(dict)
    for run in readings:
        task = labels.task(run.config["task"])
        algorithm = labels.algorithm(run.config["learner"], run.config["task"])
        seeds = found[task, algorithm, run.config["settings"]["steps"], run.finished]
        first = seeds.setdefault(run.config["seed"], run)
        if first is not run:
            repeated.append(f"{run.path} is left out: it repeats seed {run.config['seed']} of {first.path}.")
    groups = [
        Group(task, algorithm, steps, finished, tuple(seeds[seed] for seed in sorted(seeds)))
        for (task, algorithm, steps, finished), seeds in found.items()
    ]
    groups.sort(key=lambda group: (group.task.place(TASKS), group.algorithm.place(ALGORITHMS), group.steps))
    return groups, repeated


def with_names(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Names that tell groups of one task apart: with their steps if these differ, and whether they are unfinished."""
    lengths: dict[tuple[Label, Label], set[int]] = defaultdict(set)
    for group in groups:
        lengths[group.task, group.algorithm].add(group.steps)
    named = []
    for group in groups:
        parts = [str(group.algorithm)]
        if len(lengths[group.task, group.algorithm]) > 1:
            parts.append(f"{millions(group.steps)} steps")
        parts += [] if group.finished else ["unfinished"]
        named.append(replace(group, shown=", ".join(parts)))
    return tuple(named)


def millions(steps: int) -> str:
    """``1.6M``."""
    return f"{steps / 1e6:.4g}M"


@dataclass(frozen=True)
class Overall:
    """An algorithm over several tasks: the interquartile mean of its scaled scores, and its bootstrap interval."""

    algorithm: str
    split: str
    tasks: int
    scores: int
    middle: float
    low: float
    high: float


def overall(comparison: Comparison, at: At) -> list[Overall]:
    """Algorithms over all tasks and seeds, for every split of at least two tasks that at least two of them share.

    Scores are scaled per task and split: 0 is the lowest mean of those compared, 1 the highest.
    """
    found = []
    for split in comparison.all_splits:
        for name, scores in scaled_scores(comparison, split, at).items():
            low, high = bootstrap_interval(scores)
            every = np.concatenate(scores)
            found.append(Overall(name, split, len(scores), len(every), interquartile_mean(every), low, high))
    return found


def scaled_scores(comparison: Comparison, split: str, at: At) -> dict[str, list[Float[np.ndarray, "_"]]]:
    """Each algorithm's scores per task, scaled; of those that all tasks with this split and two algorithms share.

    Empty if there are fewer than two such tasks or algorithms.
    """
    rows = [
        {group.shown: group.scores(split, at) for group in groups if group.finished and split in group.splits}
        for groups in comparison.tasks.values()
    ]
    rows = [row for row in rows if len(row) > 1]
    shared = [name for name in rows[0] if all(name in row for row in rows)] if len(rows) > 1 else []
    if len(shared) < 2:
        return {}
    scaled = [scale({name: row[name] for name in shared}) for row in rows]
    return {name: [row[name] for row in scaled] for name in shared}


def scale(scores: dict[str, Float[np.ndarray, "_"]]) -> dict[str, Float[np.ndarray, "_"]]:
    """Such that the lowest mean is 0 and the highest 1; all 0 if they are equal."""
    means = [values.mean() for values in scores.values()]
    width = max(means) - min(means)
    return {name: (values - min(means)) / (width if width > 0 else 1.0) for name, values in scores.items()}
