"""``openteam bench``."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from openteam.catalogue import check_algorithm
from openteam.commands.checks import check_tasks
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.errors import UserError, check_whole
from openteam.storage.imports import import_modules

RAW_TASKS = ("lbf-released", "wolfpack", "fortattack", "lbf-partial", "wolfpack-partial", "navigation-partial")


def usable_cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure training, collecting, raw stepping, compilation and decisions, beside plain matrix products."""

    tasks: tuple[str, ...] = ("lbf-released", "lbf-partial-released")
    """Tasks to measure."""
    algorithms: tuple[str, ...] = ()
    """Algorithms to measure; by default those that the paper compares on tasks of this kind."""
    envs: tuple[int, ...] = (16,)
    """Environments that train side by side."""
    raw_tasks: tuple[str, ...] = RAW_TASKS
    """Tasks that are stepped without learning."""
    raw_envs: tuple[int, ...] = (64, 1024)
    """Environments that are stepped side by side without learning."""
    processes: Count = dataclasses.field(default_factory=usable_cores)
    """Also measure this many processes at once, one pinned to each core, and add their speeds."""
    budget: float = 3.0
    """Seconds for each figure."""
    json: Path | None = None
    """Also write the figures there, each as soon as it is known."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        import_modules(self.imports)
        from openteam.commands.bench_report import report
        from openteam.storage.classes import check_imported

        check_imported((*self.tasks, *self.raw_tasks, *self.algorithms))
        report(self)

    def check(self) -> None:
        """Everything that can be wrong before anything is measured."""
        check_whole("--processes", self.processes, 1, 1024)
        if not self.tasks or not self.envs:
            raise UserError("openteam bench needs at least one task and one number of environments.")
        check_tasks((*self.tasks, *self.raw_tasks))
        for algorithm in self.algorithms:
            check_algorithm(algorithm)
        for envs in (*self.envs, *self.raw_envs):
            check_whole("the number of environments", envs, 1, 2**20)
        if not 0 < self.budget < 3600:
            raise UserError(f"--budget must lie between 0 and 3600 seconds; got {self.budget}.")
