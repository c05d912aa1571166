"""Task and algorithm as the words of a command line change them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import tyro

from openteam.commands.flags import by_flag
from openteam.commands.train import Train
from openteam.core.learner import AbstractLearner
from openteam.host.task import HostTask
from openteam.registry import make_algorithm, make_any
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


@dataclasses.dataclass(frozen=True)
class HostParts:
    """The same, where the task is an environment in plain Python."""

    task: HostTask
    algorithm: AbstractLearner


@dataclasses.dataclass(frozen=True)
class HostOnly:
    """The task of these alone."""

    task: HostTask


def build(task: str, algorithm: str, changes: Sequence[str] = (), learner: str | None = None) -> Parts | HostParts:
    """Both by name, with the changes that flags such as --task.world.size 9 make."""
    given, prog = make_any(task, learner), f"openteam train {task} {algorithm}"
    if isinstance(given, HostTask):
        return build_host(given, algorithm, changes, prog)

    def with_changes(chosen: Task) -> Parts:
        default = Parts(given, make_algorithm(algorithm, chosen))
        return tyro.cli(Parts, prog=prog, args=list(changes), default=default, config=CONFIG) if changes else default

    parts = with_changes(given)
    # Settings of an algorithm may depend on those of its task.
    return with_changes(parts.task) if any(word.startswith("--task.") for word in changes) else parts


def build_host(given: HostTask, algorithm: str, changes: Sequence[str], prog: str) -> HostParts:
    """First the task alone: its environment is made only when all about it is known."""
    words: dict[bool, list[str]] = {True: [], False: []}
    for flag, values in by_flag(changes):
        words[flag.startswith("--task.")] += [flag, *values] if flag else values
    only = HostOnly(given)
    task = tyro.cli(HostOnly, prog=prog, args=words[True], default=only, config=CONFIG).task if words[True] else given
    default = HostParts(task, make_algorithm(algorithm, task))
    return (
        tyro.cli(HostParts, prog=prog, args=words[False], default=default, config=CONFIG) if words[False] else default
    )


def show_all_settings(run: Train) -> NoReturn:
    """Print every setting of a run, of its task and of its algorithm, and exit."""
    of_run, task = Annotated[Train, tyro.conf.arg(name="")], make_any(run.task, run.learner)
    kind = type(task)
    shown = dataclasses.make_dataclass("Shown", [("run", of_run), ("task", kind), ("algorithm", AbstractLearner)])
    tyro.cli(
        shown, prog=f"openteam train {run.task} {run.algorithm}", args=["--help"], description=Train.__doc__,
        default=shown(run, task, make_algorithm(run.algorithm, task)), config=(*CONFIG, tyro.conf.SuppressFixed),
    )  # fmt: skip
    raise SystemExit(0)


def with_teammates(task: Task | HostTask, runs: Sequence[Path]) -> Task | HostTask:
    """The task with trained runs in its pool."""
    if not runs:
        return task
    for run in runs:
        check_fits(run, task.name, task.spec)
    before = () if task.pool is None else task.pool.families
    return dataclasses.replace(task, pool=Pool((*before, Trained(tuple(map(str, runs))))))
