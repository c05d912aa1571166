"""``openteam teammates import``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console

from openteam.catalogue import catalogue
from openteam.errors import UserError


@dataclasses.dataclass(frozen=True)
class Import:
    """Import the agents that the paper's authors published, for the tasks that end in -authors.

    Their arrays are read, checked and kept in your data folder. Nothing in the files is run.
    """

    folder: tyro.conf.Positional[Path]
    """Your copy of github.com/uoe-agents/GPL or PO-GPL, or a folder with the published files themselves."""
    accept_changed: bool = False
    """Also import files that are not the published ones, if they hold networks of the same shapes."""

    def __call__(self) -> None:
        if not self.folder.is_dir():
            raise UserError(f"There is no folder {self.folder}. Give your copy of the authors' repository.")
        from openteam.teammates.authors.importing import import_agents

        console = Console()
        for one in import_agents(self.folder, self.accept_changed):
            tasks = [name for name, task in catalogue().tasks.items() if task.imports == one.group]
            console.print(f"{one.path}: {', '.join(one.members)}. For {', '.join(tasks)}.", highlight=False)
            for path in one.changed:
                console.print(f"  {path} is not the published file.", highlight=False)
