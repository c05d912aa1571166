"""``openteam resume``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console

from openteam.commands.running import both, go_on, interruptible
from openteam.execution.processes import advance_runs
from openteam.training.driver import resume_training
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

    def __call__(self) -> None:
        folders = [self.run]
        if not (self.run / "config.json").exists():
            folders = sorted(path.parent for path in self.run.glob("*/config.json")) or folders
        with logging_to(self.log, folders) as logger:
            if len(folders) == 1:
                training = resume_training(folders[0])
                go_on(training, training.task.name, logger)
            else:
                with ProgressBars(self.run.name) as bars:
                    interruptible(lambda: advance_runs(folders, both(bars, logger)), folders)
        console.print(f"Finished: {self.run}")
