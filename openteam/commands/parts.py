"""Task and algorithm as the words of a command line change them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import tyro

from openteam.commands.train import Train
from openteam.core.learner import AbstractLearner
from openteam.registry import make, make_algorithm
from openteam.storage.policies import check_fits
from openteam.task import Task
from openteam.teammates import Pool
from openteam.teammates.trained import Trained

CONFIG = (tyro.conf.AvoidSubcommands, tyro.conf.HelptextFromCommentsOff)


@dataclasses.dataclass(frozen=True)
class Parts:
    """All settings of a task and an algorithm."""

    task: Task
    algorithm: AbstractLearner


def build(task: str, algorithm: str, changes: Sequence[str] = ()) -> Parts:
    """Both by name, with the changes that flags such as --task.world.size 9 make."""
    given = make(task)

    def with_changes(chosen: Task) -> Parts:
        default = Parts(given, make_algorithm(algorithm, chosen))
        prog = f"openteam train {task} {algorithm}"
        return tyro.cli(Parts, prog=prog, args=list(changes), default=default, config=CONFIG) if changes else default

    parts = with_changes(given)
    # Settings of an algorithm may depend on those of its task.
    return with_changes(parts.task) if any(word.startswith("--task.") for word in changes) else parts


def show_all_settings(run: Train) -> NoReturn:
    """Print every setting of a run, of its task and of its algorithm, and exit."""
    of_run, task = Annotated[Train, tyro.conf.arg(name="")], make(run.task)
    shown = dataclasses.make_dataclass("Shown", [("run", of_run), ("task", Task), ("algorithm", AbstractLearner)])
    tyro.cli(
        shown, prog=f"openteam train {run.task} {run.algorithm}", args=["--help"], description=Train.__doc__,
        default=shown(run, task, make_algorithm(run.algorithm, task)), config=(*CONFIG, tyro.conf.SuppressFixed),
    )  # fmt: skip
    raise SystemExit(0)


def with_teammates(task: Task, runs: Sequence[Path]) -> Task:
    """The task with trained runs in its pool."""
    if not runs:
        return task
    for run in runs:
        check_fits(run, task.name, task.spec)
    pool = Pool((*task.pool.families, Trained(tuple(map(str, runs)))))
    return dataclasses.replace(task, pool=pool)
