"""``openteam train``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console

from openteam.algorithms.presets import ALGORITHMS
from openteam.commands.count import Count
from openteam.commands.importing import Imports, command_line, split_imports
from openteam.commands.running import report_to, resumable, run_with_bar
from openteam.core.learner import AbstractLearner
from openteam.errors import UserError
from openteam.execution.estimate import forecast
from openteam.execution.processes import advance_runs, cores, on_accelerator
from openteam.registry import make, make_algorithm, short_name
from openteam.storage.imports import import_modules
from openteam.storage.policies import check_fits
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.teammates import Pool
from openteam.teammates.trained import Trained
from openteam.training.driver import create_run
from openteam.training.loggers import logging_to
from openteam.training.progress import ProgressBars
from openteam.training.settings import Settings

console = Console()


@dataclasses.dataclass(frozen=True)
class Train:
    """Train a learner on a task and keep everything in a run folder."""

    out: Path
    """Run folder to make. With several seeds, one folder seed-N in it for each."""
    task: Task
    algorithm: AbstractLearner
    steps: Count = Settings.steps
    """Environment steps, over all environments; 6.4e6 is the paper's length."""
    seed: int = 0
    """The first (or only) seed: same seed, same machine, same result."""
    seeds: int = 1
    """How many seeds. On a CPU each gets a process of its own, pinned to a core."""
    checkpoint_every: Count | None = None
    """Steps between checkpoints; by default a fortieth of the run, but not less than 20,000."""
    evaluation_episodes: Count = Settings.evaluation_episodes
    """Episodes per split at every checkpoint."""
    teammates: tuple[Path, ...] = ()
    """Trained runs that join the pool of teammates, with networks of one size."""
    log: Literal["none", "tensorboard", "wandb", "trackio"] = "none"
    """Also send metrics there. The run folder has them in any case."""
    imports: Imports = ()

    def __call__(self) -> None:
        if self.seeds < 1:
            raise UserError(f"--seeds must be at least 1; got {self.seeds}.")
        settings = Settings(self.steps, self.checkpoint_every, self.evaluation_episodes)
        numbers = range(self.seed, self.seed + self.seeds)
        folders = [self.out] if self.seeds == 1 else [self.out / f"seed-{number}" for number in numbers]
        task = with_teammates(self.task, self.teammates)
        for seed, folder in zip(numbers, folders, strict=True):
            create_run(task, self.algorithm, settings, seed, folder)
        if not on_accelerator():
            console.print(forecast(folders, min(self.seeds, len(cores()))), highlight=False)
        with logging_to(self.log, folders) as logger:
            if self.seeds == 1 or on_accelerator():
                run_with_bar(folders, task.name, logger, self.imports)
            else:
                with ProgressBars(task.name) as bars:
                    report = report_to(bars, logger)
                    resumable(lambda: advance_runs(folders, report, self.imports), folders, self.imports)
        console.print(f"Finished: {self.out}")
        words = f"openteam evaluate {folders[0]} --split {self.task.split_names[-1]} --episodes 480"
        console.print(f"Try: {command_line(words, self.imports)}")


def with_teammates(task: Task, runs: Sequence[Path]) -> Task:
    """The task with trained runs in its pool."""
    if not runs:
        return task
    for run in runs:
        check_fits(run, task.name, task.spec)
    pool = Pool((*task.pool.families, Trained(tuple(map(str, runs)))))
    return dataclasses.replace(task, pool=pool)


def parse(words: list[str]) -> Train:
    """``TASK ALGORITHM`` choose the defaults that all other flags change."""
    imports, words = split_imports(words)
    import_modules(imports)
    names = words[:2] if len(words) >= 2 and not any(word.startswith("-") for word in words[:2]) else None
    if names is None and not {"-h", "--help"} & set(words):
        raise UserError(
            f"openteam train needs a task and an algorithm, as in: openteam train lbf gpl-q --out RUN. "
            f"Tasks: {', '.join(TASKS)}. Algorithms: {', '.join(ALGORITHMS)}."
        )
    task, algorithm = names or ("lbf", "gpl-q")
    out = Path("runs") / f"{short_name(task)}-{short_name(algorithm)}"
    default = Train(out, make(task), make_algorithm(algorithm), imports=imports)
    return tyro.cli(
        Train, prog=f"openteam train {task} {algorithm}", args=words[2:] if names else words, default=default,
        config=(tyro.conf.AvoidSubcommands,),
    )  # fmt: skip
