"""``openteam list``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import tyro
from rich.console import Console
from rich.table import Table

from openteam.algorithms.presets import ALGORITHMS
from openteam.tasks import TASKS

console = Console()


@dataclasses.dataclass(frozen=True)
class List:
    """What there is: tasks with their splits, and algorithms."""

    what: tyro.conf.Positional[Literal["all", "tasks", "algorithms"]] = "all"
    """Which of it."""

    def __call__(self) -> None:
        if self.what in ("all", "tasks"):
            table = Table("task", "splits", "what it is", title="Tasks")
            for name, build in TASKS.items():
                table.add_row(name, ", ".join(build().split_names), first_line(build))
            console.print(table)
            console.print("Their teammates: openteam teammates list TASK")
        if self.what in ("all", "algorithms"):
            table = Table("algorithm", "what it is", title="Algorithms")
            for name, build in ALGORITHMS.items():
                table.add_row(name, first_line(build))
            console.print(table)
        console.print("All settings of a pair: openteam train lbf gpl-q --help")


def first_line(function: Callable) -> str:
    """What a function says of itself."""
    return (function.__doc__ or "").splitlines()[0]
