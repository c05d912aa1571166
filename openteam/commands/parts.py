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
    default = Parts(make(task), make_algorithm(algorithm))
    prog = f"openteam train {task} {algorithm}"
    return tyro.cli(Parts, prog=prog, args=list(changes), default=default, config=CONFIG) if changes else default


def show_all_settings(run: Train) -> NoReturn:
    """Print every setting of a run, of its task and of its algorithm, and exit."""
    of_run = Annotated[Train, tyro.conf.arg(name="")]
    shown = dataclasses.make_dataclass("Shown", [("run", of_run), ("task", Task), ("algorithm", AbstractLearner)])
    tyro.cli(
        shown, prog=f"openteam train {run.task} {run.algorithm}", args=["--help"], description=Train.__doc__,
        default=shown(run, make(run.task), make_algorithm(run.algorithm)), config=(*CONFIG, tyro.conf.SuppressFixed),
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
