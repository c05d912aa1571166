"""``openteam resume``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.errors import UserError, check_whole
from openteam.storage.imports import import_modules
from openteam.threads import use_cpu_devices
from openteam.training.loggers import Log, check_installed, logging_to

if TYPE_CHECKING:
    from openteam.training.driver import Report
    from openteam.training.spec import RunSpec


@dataclasses.dataclass(frozen=True)
class Resume:
    """Go on with a run that was interrupted, to the result it would have had. A finished run stays as it is."""

    run: tyro.conf.Positional[Path]
    """Run folder; or a folder of runs made with --seeds."""
    again: Path | None = None
    """Leave the run as it is and train once more with its configuration, from nothing, in this new folder."""
    devices: Count = 1
    """As many as it was begun with; with others its last digits differ."""
    log: Log = "none"
    """Also send metrics there."""
    imports: Imports = ()

    def __call__(self) -> None:
        if not self.run.exists():
            raise UserError(f"There is no run at {self.run}.")
        check_installed(self.log)
        check_whole("--devices", self.devices, 1, 1024)
        use_cpu_devices(self.devices)
        import_modules(self.imports)
        from openteam.storage.run_folder import RunFolder
        from openteam.training.resuming import is_done
        from openteam.training.spec import RunSpec

        folders = find_runs(self.run)
        specs = {folder: RunSpec.from_config(RunFolder.open(folder).config, folder) for folder in folders}
        first = specs[folders[0]]
        if self.again is None:
            left = [folder for folder, spec in specs.items() if not is_done(RunFolder(folder), spec)]
        else:
            left = [self.again]
            begin_again(list(specs.values()), self.again)
        with logging_to(self.log, left) as logger:
            self.bring_to_end(left, f"{first.task.name} {type(first.learner).__name__}", logger)
        shown = describe(self.run, folders)
        print(f"Finished: {self.again or shown}" if left else f"Finished before, nothing to do: {shown}")

    def bring_to_end(self, folders: Sequence[Path], label: str, logger: Report) -> None:
        """One run in this process, several in processes of their own."""
        from openteam.commands.running import report_to, resumable, run_with_bar
        from openteam.execution.processes import advance_runs
        from openteam.storage.lease import watched_in_vain
        from openteam.training.progress import ProgressBars

        if len(folders) == 1:
            run_with_bar(folders, label, logger, self.imports, self.devices)
        elif folders:
            stale = watched_in_vain(folders, print)
            with ProgressBars(self.run.name) as bars:
                report = report_to(bars, logger)
                resumable(lambda: advance_runs(folders, report, self.imports, stale), folders, self.imports)


def find_runs(path: Path) -> list[Path]:
    """The run itself, or all runs right below."""
    from openteam.storage.run_folder import is_run

    if (path / "config.json").exists():
        return [path]
    return sorted(config.parent for config in path.glob("*/config.json") if is_run(config)) or [path]


def begin_again(specs: Sequence[RunSpec], out: Path) -> None:
    """A new run with the configuration of another."""
    from openteam.training.driver import create_run

    if len(specs) > 1:
        raise UserError("--again takes one run. Name one of those in the folder.")
    create_run(specs[0].task, specs[0].learner, specs[0].settings, specs[0].seed, out)


def describe(path: Path, folders: Sequence[Path]) -> str:
    """``runs/lbf (seed-0, seed-1)``."""
    return str(path) if folders == [path] else f"{path} ({', '.join(folder.name for folder in folders)})"
