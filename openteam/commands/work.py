"""``openteam work``: a worker that any engine can start, on any machine that shares the disk."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import tyro

from openteam.commands.count import Count
from openteam.commands.durations import Duration
from openteam.commands.importing import Imports, command_line
from openteam.errors import UserError
from openteam.storage.lease import LEASE_SECONDS

LEAST_LEASE, MOST_LEASE = 1.0, 86_400.0


@dataclasses.dataclass(frozen=True)
class Work:
    """Take unfinished runs one after another, and bring each to its end, until there are none left.

    Any number of workers may share a plan or a folder of runs, on one machine or on many that share its disk. Every run
    has one of them: a lease file in its folder says which. If a worker dies, another goes on from the run's last state.

    Ctrl-C, SIGTERM, SIGUSR1 and the time limit have all states written first; whoever comes next goes on from there.
    """

    target: tyro.conf.Positional[Path]
    """A plan file, or a folder with runs (or a run)."""
    time_limit: Duration | None = None
    """Hand back what is not finished by then, as 50m. Leave some minutes for states to be written."""
    lease: Duration = LEASE_SECONDS
    """After how long without a sign of life others may take a run over."""
    workers: Count | None = None
    """Runs at a time; by default one per core, each pinned to its own."""
    gpus: Count = 0
    """GPUs for each run, instead of a core."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        from openteam.commands.planning import check_workers, listed, runs_of
        from openteam.commands.status_table import StatusTable
        from openteam.execution.stopping import stopped_by_signals
        from openteam.execution.worker import work

        check_workers(self.workers, self.gpus)
        runs, imports = runs_of(self.target, self.imports)
        again = command_line(f"openteam work {shlex.quote(str(self.target))}", self.imports)
        folders = [run.folder for run in runs]
        try:
            with stopped_by_signals(self.time_limit), StatusTable(folders):
                failures = work(
                    runs, processes=self.workers, gpus=self.gpus, pinned=self.workers is None, imports=imports,
                    seconds=self.lease,
                )  # fmt: skip
        except KeyboardInterrupt:
            raise UserError(f"Stopped; states are written, nothing is lost. To go on: {again}") from None
        if failures:
            raise UserError(f"{listed(failures, len(runs))} To try again: {again}")
        print(f"Finished: {len(runs)} runs.")

    def check(self) -> None:
        """What can be wrong before anything is read."""
        if not self.target.exists():
            raise UserError(f"There is nothing at {self.target}. Give a plan file or a folder with runs.")
        if not LEAST_LEASE <= self.lease <= MOST_LEASE:
            raise UserError(f"--lease must lie between 1s and 1d; got {self.lease:g} seconds.")
