"""``openteam resume``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console

from openteam.commands.importing import Imports
from openteam.commands.running import report_to, resumable, run_with_bar
from openteam.execution.processes import advance_runs
from openteam.storage.imports import import_modules
from openteam.storage.run_folder import RunFolder
from openteam.training.loggers import logging_to
from openteam.training.progress import ProgressBars

console = Console()


@dataclasses.dataclass(frozen=True)
class Resume:
    """Go on with a run that was interrupted, to the result it would have had."""

    run: tyro.conf.Positional[Path]
    """Run folder; or a folder of runs made with --seeds."""
    log: Literal["none", "tensorboard", "wandb", "trackio"] = "none"
    """Also send metrics there."""
    imports: Imports = ()

    def __call__(self) -> None:
        import_modules(self.imports)
        folders = [self.run]
        if not (self.run / "config.json").exists():
            folders = sorted(path.parent for path in self.run.glob("*/config.json")) or folders
        with logging_to(self.log, folders) as logger:
            if len(folders) == 1:
                run_with_bar(folders, RunFolder.open(folders[0]).config["task"]["name"], logger, self.imports)
            else:
                with ProgressBars(self.run.name) as bars:
                    report = report_to(bars, logger)
                    resumable(lambda: advance_runs(folders, report, self.imports), folders, self.imports)
        console.print(f"Finished: {self.run}")
