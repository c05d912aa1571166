"""``openteam list``."""

from __future__ import annotations

import dataclasses
from typing import Literal

import tyro
from rich.console import Console
from rich.table import Table

from openteam.catalogue import catalogue
from openteam.storage.imported import is_imported


@dataclasses.dataclass(frozen=True)
class List:
    """What there is: tasks with their splits, and algorithms."""

    what: tyro.conf.Positional[Literal["all", "tasks", "algorithms"]] = "all"
    """Which of it."""

    def __call__(self) -> None:
        console = Console()
        if self.what in ("all", "tasks"):
            table = Table("task", "splits", "what it is", title="Tasks")
            for name, task in catalogue().tasks.items():
                what = task.what if task.drawable else f"{task.what} Cannot be drawn."
                if task.imports is not None and not is_imported(task.imports):
                    what = f"{what} Not imported yet: openteam teammates import FOLDER."
                table.add_row(name, ", ".join(task.splits), what)
            console.print(table)
            console.print("Their teammates: openteam teammates list TASK")
        if self.what in ("all", "algorithms"):
            table = Table("algorithm", "what it is", title="Algorithms")
            for name, algorithm in catalogue().algorithms.items():
                table.add_row(name, algorithm.what)
            console.print(table)
        console.print("The settings of a pair: openteam train lbf gpl-q --help")
