"""Train, resume, evaluate and record from Python: names, values, runs and paths alike.

What is learned or played comes as ``train(task, learner)``; who plays comes first in ``evaluate(policy, task, split)``
and ``record(policy, task, split)``. Everything is checked before anything is written or compiled.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from openteam.compile_cache import check_precision
from openteam.core.checked import short
from openteam.core.fitting import check_acts
from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.drawing.record import Recording, check_recording_path, record_all, write_recordings
from openteam.errors import UserError, check_seed
from openteam.host.task import HostTask, compiled
from openteam.registry import make_algorithm, make_any, short_name
from openteam.rollout.episodes import Episodes
from openteam.rollout.episodes import evaluate as play_episodes
from openteam.storage import policies
from openteam.storage.run_folder import RunFolder
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.training.driver import Progress, Report, create_run, run_folders, silent
from openteam.training.progress import ProgressBars
from openteam.training.settings import Settings


class Run:
    """A run and the policy of its last checkpoint."""

    def __init__(self, folder: RunFolder, policy: AbstractPolicy):
        self.folder = folder
        self.policy = policy

    @classmethod
    def open(cls, path: Path | str) -> Run:
        """The run in a folder, finished or not."""
        folder = RunFolder.open(Path(path).absolute())
        return cls(folder, policies.load(folder.path))

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def task(self) -> Task | HostTask:
        return self.folder.build("task")

    @property
    def evaluation(self) -> dict[str, Episodes]:
        """The episodes of the last checkpoint, by split."""
        rows, task = self.folder.rows("episodes.jsonl"), self.folder.config["task"]["name"]
        last = [row for row in rows if row["step"] == rows[-1]["step"]]
        splits = dict.fromkeys(row["split"] for row in last)
        return {split: _episodes_of(last, split, f"{task} {split}") for split in splits}

    def __fspath__(self) -> str:
        """A run can stand wherever a path can: ``Trained(run)``."""
        return str(self.path)

    def __repr__(self) -> str:
        config, rows = self.folder.config, self.folder.rows("episodes.jsonl")
        learner = config["learner"]["class"].rpartition(":")[2]
        about = f"{learner} on '{config['task']['name']}', seed {config['seed']}"
        if not rows:
            return f"Run({self.path}: {about}, no checkpoint yet)"
        returns = ", ".join(f"{split} {played}" for split, played in self.evaluation.items())
        return f"Run({self.path}: {about}, step {rows[-1]['step']:,}; return {returns})"


def _episodes_of(rows: list[dict[str, Any]], split: str, label: str) -> Episodes:
    mine = [row for row in rows if row["split"] == split]
    return Episodes(np.array([row["return"] for row in mine]), np.array([row["length"] for row in mine]), label)


Player = AbstractPolicy | Run | Path | str
"""Who plays: a policy, a run, a run folder (its last checkpoint counts) or a checkpoint file."""


def train(
    task: Task | HostTask | str,
    learner: AbstractLearner | str,
    *,
    steps: int | float = Settings.steps,
    seed: int = 0,
    out: Path | str | None = None,
    checkpoint_every: int | float | None = None,
    evaluation_episodes: int | float = Settings.evaluation_episodes,
    progress: bool = True,
    report: Report = silent,
) -> Run:
    """Train a learner on a task and keep everything in a run folder.

    Both may be names, as on the command line: some learners have other settings on other tasks. Without ``out`` the
    folder is runs/TASK-LEARNER, with a number if that exists. ``progress`` shows a bar in a terminal or a notebook and
    a line per checkpoint elsewhere.
    """
    check_precision()
    chosen = find_task(task)
    algorithm = find_learner(learner, chosen)
    settings = Settings(
        whole_number("steps", steps),
        None if checkpoint_every is None else whole_number("checkpoint_every", checkpoint_every),
        whole_number("evaluation_episodes", evaluation_episodes),
    )
    check_seed(seed)
    name = short_name(learner) if isinstance(learner, str) else type(algorithm).__name__.lower()
    # The folder is the same wherever the process goes meanwhile.
    folder = new_folder(f"{short_name(chosen.name)}-{name}") if out is None else Path(out).absolute()
    create_run(chosen, algorithm, settings, seed, folder)
    return resume(folder, progress=progress, report=report)


def resume(run: Run | Path | str, *, progress: bool = True, report: Report = silent) -> Run:
    """Go on with an interrupted run, to the result it would have had."""
    check_precision()
    folder = RunFolder.open(path_of(run, "resume").absolute())
    with reporting(folder.config["task"]["name"], progress, report) as reports:
        run_folders([folder.path], reports)
    return Run.open(folder.path)


def evaluate(
    policy: Player,
    task: Task | HostTask | str | None = None,
    split: str = "train",
    *,
    episodes: int | float = 480,
    seed: int = 0,
) -> Episodes:
    """Whole episodes of a policy: ``evaluate(run, "larger")``, ``evaluate(policy, "lbf", "larger")``.

    A run plays its own task unless another is given; the word after it may be a split of its own task. The result
    prints as the mean return with its 95 % interval over episodes.
    """
    player, chosen, split = find_any_player(policy, task, split, "evaluate")
    count = whole_number("episodes", episodes)
    check_seed(seed)
    played = play_episodes(player, chosen, episodes=count, seed=seed)
    return Episodes(played.returns, played.lengths, f"{chosen.name} {split}")


def record(
    policy: Player,
    task: Task | str | None = None,
    split: str = "train",
    *,
    seed: int = 0,
    best_of: int = 1,
    belief: bool = False,
    out: Path | str | None = None,
) -> Recording:
    """One episode, or the one of several with the highest return; drawn to ``out`` (.gif, .mp4 or .png) if given."""
    if out is not None:
        check_recording_path(Path(out))
    player, chosen, _ = find_player(policy, task, split, "record")
    check_seed(seed)
    played = record_all(player, chosen, seed=seed, episodes=whole_number("best_of", best_of), belief=belief)
    best = max(played, key=lambda episode: episode.total)
    if out is not None:
        write_recordings(Path(out), chosen, [best])
    return best


def load(run: Run | Path | str) -> AbstractPolicy:
    """The frozen policy of a run's last checkpoint, or of one checkpoint file."""
    return run.policy if isinstance(run, Run) else policies.load(path_of(run, "load"))


def find_task(task: Task | HostTask | str) -> Task | HostTask:
    """A task or its name."""
    if isinstance(task, (Task, HostTask, str)):
        return make_any(task) if isinstance(task, str) else task
    swapped = " The task comes first, then the learner." if isinstance(task, AbstractLearner) else ""
    raise UserError(f"A task is a Task or a name such as 'lbf'; got {short(task)}.{swapped}")


def find_learner(learner: AbstractLearner | str, task: Task | HostTask) -> AbstractLearner:
    """An algorithm, or the one of a name with its settings for this task."""
    if isinstance(learner, (AbstractLearner, str)):
        return make_algorithm(learner, task) if isinstance(learner, str) else learner
    raise UserError(f"A learner is a value such as GPL() or a name such as 'gpl-q'; got {short(learner)}.")


def find_player(policy: Player, task: Task | str | None, split: str, verb: str) -> tuple[AbstractPolicy, Task, str]:
    """A policy, the compiled task it plays under its split, and that split's name. Raises unless they fit."""
    player, chosen, split = find_any_player(policy, task, split, verb)
    return player, compiled(chosen), split


def find_any_player(
    policy: Player, task: Task | HostTask | str | None, split: str, verb: str
) -> tuple[AbstractPolicy, Task | HostTask, str]:
    """The same for a task of any kind."""
    check_precision()
    if isinstance(policy, AbstractPolicy):
        if task is None:
            raise UserError(f"A policy does not know its task: say {verb}(policy, 'lbf') or {verb}(policy, task).")
        played = find_task(task).split(split)
        check_acts(policy, played.spec, f"This {type(policy).__name__}", f"'{played.name}',")
        return policy, played, split
    path = path_of(policy, verb)
    if isinstance(task, str) and split == "train" and task not in TASKS and ":" not in task:
        task, split = None, task
    played = (task_of_run(path) if task is None else find_task(task)).split(split)
    policies.check_fits(path, played.name, played.spec)
    return load(policy), played, split


def task_of_run(path: Path) -> Task | HostTask:
    """The task of a run folder, or of the run that a checkpoint is in."""
    if not path.exists():
        raise UserError(f"There is no run or checkpoint at {path}.")
    folder = path if path.is_dir() else path.absolute().parent.parent
    if path.is_file() and not (folder / "config.json").is_file():
        raise UserError(f"{path} is not in a run folder, which would know its task. Say which task it should play.")
    return RunFolder.open(folder).build("task")


def path_of(run: os.PathLike[str] | str, verb: str) -> Path:
    """Where a run or a checkpoint is."""
    if isinstance(run, (str, os.PathLike)):
        return Path(run)
    raise UserError(f"{verb} takes a policy, a run or a path first; got {short(run)}.")


def whole_number(name: str, value: int | float) -> int:
    """6400000 and 6.4e6 alike."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value % 1 != 0:
        raise UserError(f"{name} must be a whole number; got {value!r}.")
    return int(value)


def new_folder(name: str) -> Path:
    """The first of runs/NAME, runs/NAME-2, ... that does not exist."""
    first = Path("runs").absolute() / name
    rest = (first.with_name(f"{name}-{number}") for number in itertools.count(2))
    return next(folder for folder in itertools.chain([first], rest) if not folder.exists())


@contextlib.contextmanager
def reporting(label: str, progress: bool, report: Report) -> Iterator[Report]:
    """A report that also moves a bar, if that is wanted."""
    if not progress:
        yield report
        return

    def both(step: Progress) -> None:
        bars(step)
        report(step)

    with ProgressBars(label, console()) as bars:
        yield both


def console() -> Console:
    """Where bars are shown. A notebook can show moving ones if it has widgets."""
    here = Console(stderr=True)
    widgets = here.is_jupyter and importlib.util.find_spec("ipywidgets") is not None
    return Console(force_terminal=True) if widgets else here
