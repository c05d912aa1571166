"""``openteam plan``: bring all runs of a plan file to their end, here or on a cluster."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro
from rich.console import Console

from openteam.commands.count import Count
from openteam.commands.durations import Duration
from openteam.commands.importing import Imports, command_line
from openteam.errors import UserError, check_whole
from openteam.storage.lease import LEASE_SECONDS

if TYPE_CHECKING:
    from openteam.execution.plan import PlannedRun

MOST_WORKERS, MOST_GPUS = 10_000, 64


@dataclasses.dataclass(frozen=True)
class Plan:
    """Runs of a plan file: skip what is finished, resume what is not, start the rest.

    On this machine; on a Ray cluster, whose nodes need no shared disk; or on a Slurm cluster. docs/many-machines.md
    says how. Given again after any interruption, it goes on where the runs are.
    """

    file: tyro.conf.Positional[Path]
    """The plan, TOML or JSON; docs/compare.md says what may be in it."""
    on: Literal["local", "ray", "slurm"] = "local"
    """Where: processes here, tasks of Ray, or jobs of Slurm."""
    workers: Count | None = None
    """Runs at a time. By default: local, one per core, each pinned to its own; ray, as many as the cluster has CPUs;
    slurm, 16."""
    gpus: Count = 0
    """GPUs for each run. By default none: a run gets a CPU core."""
    address: str | None = None
    """ray: an existing cluster, as HOST:6379 or auto; by default one is started here. slurm: local is a trial here."""
    time_limit: Duration = 3600.0
    """slurm: how long a job may take; shortly before, its run is written down and the job queued again."""
    slurm: tuple[str, ...] = ()
    """slurm: other parameters of sbatch, as partition=gpu account=mine mem=4GB."""
    dry_run: bool = False
    """Only say what would be done, and how long it would take."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        if self.on == "ray" and not self.dry_run:
            from openteam.execution.on_ray import connect

            connect(self.address)
        from openteam.commands.planning import check_workers, listed, planned_of, table_of
        from openteam.execution.slots import cores

        if self.on == "local":
            check_workers(self.workers, self.gpus)
        planned, imports = planned_of(self.file, self.imports)
        if self.dry_run:
            Console().print(table_of(planned, self.workers or len(cores())))
            return
        failures = self.work(planned, imports)
        if failures:
            raise UserError(f"{listed(failures, len(planned))} To try again: {self.again}")
        runs = shlex.quote(str(planned[0].folder.parents[2]))
        print(f"Finished: {len(planned)} runs. Try: openteam compare {runs}")

    def check(self) -> None:
        """What can be wrong before anything is read."""
        if not self.file.is_file():
            raise UserError(f"Cannot read the plan {self.file}: there is no such file.")
        if self.workers is not None:
            check_whole("--workers", self.workers, 1, MOST_WORKERS)
        check_whole("--gpus", self.gpus, 0, MOST_GPUS)
        if self.address is not None and self.on == "local":
            raise UserError("--address is for --on ray and --on slurm; local processes need none.")
        if self.slurm and self.on != "slurm":
            raise UserError("--slurm is for --on slurm.")
        self.parameters()

    def parameters(self) -> dict[str, str | int]:
        """What --slurm says."""
        pairs = [word.partition("=") for word in self.slurm]
        if not all(name.isidentifier() and value for name, _, value in pairs):
            raise UserError(f"--slurm takes NAME=VALUE, as in partition=gpu; got '{' '.join(self.slurm)}'.")
        return {name: int(value) if value.isdecimal() else value for name, _, value in pairs}

    @property
    def again(self) -> str:
        """The command to go on with."""
        words = ["openteam", "plan", str(self.file)]
        words += [] if self.on == "local" else ["--on", self.on]
        words += [] if self.address is None else ["--address", self.address]
        return command_line(shlex.join(words), self.imports)

    def work(self, planned: list[PlannedRun], imports: tuple[str, ...]) -> dict[Path, str]:
        """All that is left to do; a run that fails stops no other. What failed, and why."""
        from openteam.commands.status_table import StatusTable
        from openteam.execution.stopping import stopped_by_signals

        try:
            with stopped_by_signals(), StatusTable([run.folder for run in planned]):
                return self.engine(planned, imports)
        except KeyboardInterrupt:
            jobs = " Jobs that were submitted go on; scancel ends them." if self.on == "slurm" else ""
            raise UserError(f"Interrupted; nothing is lost.{jobs} To go on: {self.again}") from None

    def engine(self, planned: list[PlannedRun], imports: tuple[str, ...]) -> dict[Path, str]:
        """Hand the runs to whoever places them."""
        if self.on == "ray":
            from openteam.execution import on_ray

            return on_ray.bring_to_end(
                planned, address=self.address, workers=self.workers, gpus=self.gpus, imports=imports,
                seconds=LEASE_SECONDS,
            )  # fmt: skip
        if self.on == "slurm":
            from openteam.execution import on_slurm

            return on_slurm.bring_to_end(
                planned, planned[0].folder.parents[2] / "slurm", address=self.address, workers=self.workers or 16,
                gpus=self.gpus, imports=imports, seconds=LEASE_SECONDS, time_limit=self.time_limit,
                parameters=self.parameters(),
            )  # fmt: skip
        from openteam.execution.worker import work

        return work(planned, processes=self.workers, gpus=self.gpus, imports=imports, wait=False)
