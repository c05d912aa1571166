"""``openteam status``."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import tyro
from rich.console import Console

from openteam.errors import UserError


@dataclasses.dataclass(frozen=True)
class Status:
    """How far all runs of a folder are, and where they run; from any machine that sees the folder.

    Only files are read. A run is running if its lease is renewed, silent if it is not any more (a worker takes it over
    then), interrupted if it was begun and nobody is at it.
    """

    folder: tyro.conf.Positional[Path]
    """A run, or a folder of runs."""
    all: bool = False
    """List finished and waiting runs too, which are only counted otherwise."""
    json: bool = False
    """A line of JSON per run, for programs."""

    def __call__(self) -> None:
        if not self.folder.is_dir():
            raise UserError(f"There is no folder {self.folder}. Give a run, or a folder of runs.")
        from openteam.commands.status_table import table_of_statuses
        from openteam.execution.status import folders_below, status_of

        statuses = [status_of(folder) for folder in folders_below(self.folder)]
        if not statuses:
            raise UserError(f"There is no run in {self.folder}: no folder with a config.json.")
        if self.json:
            for one in statuses:
                print(json.dumps(dataclasses.asdict(one) | {"folder": str(one.folder)}))
            return
        Console().print(table_of_statuses(statuses, every=self.all or len(statuses) == 1))
