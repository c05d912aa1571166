"""``openteam resume``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from openteam.commands.importing import Imports
from openteam.errors import UserError
from openteam.storage.imports import import_modules
from openteam.training.loggers import Log, check_installed, logging_to


@dataclasses.dataclass(frozen=True)
class Resume:
    """Go on with a run that was interrupted, to the result it would have had."""

    run: tyro.conf.Positional[Path]
    """Run folder; or a folder of runs made with --seeds."""
    log: Log = "none"
    """Also send metrics there."""
    imports: Imports = ()

    def __call__(self) -> None:
        if not self.run.exists():
            raise UserError(f"There is no run at {self.run}.")
        check_installed(self.log)
        import_modules(self.imports)
        from openteam.commands.running import report_to, resumable, run_with_bar
        from openteam.execution.processes import advance_runs
        from openteam.storage.run_folder import RunFolder
        from openteam.training.progress import ProgressBars

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
        print(f"Finished: {self.run}")
