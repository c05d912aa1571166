"""``openteam plan``: bring all runs of a plan file to their end, every core busy with one of them."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.console import Console

from openteam.commands.count import Count
from openteam.commands.importing import Imports, command_line
from openteam.errors import UserError
from openteam.storage.imports import import_modules

if TYPE_CHECKING:
    from openteam.execution.plan import PlannedRun


@dataclasses.dataclass(frozen=True)
class Plan:
    """Runs of a plan file: skip what is finished, resume what is not, start the rest."""

    file: tyro.conf.Positional[Path]
    """The plan, TOML or JSON; docs/compare.md says what may be in it."""
    processes: Count | None = None
    """Runs at a time, each pinned to a core of its own; by default one per core."""
    dry_run: bool = False
    """Only say what would be done, and how long it would take."""
    imports: Imports = ()

    def __call__(self) -> None:
        if not self.file.is_file():
            raise UserError(f"Cannot read the plan {self.file}: there is no such file.")
        from openteam.commands.planning import table_of
        from openteam.execution.plan import planned_imports, read_plan
        from openteam.execution.processes import cores

        if self.processes is not None and not 1 <= self.processes <= len(cores()):
            raise UserError(f"--processes must lie between 1 and the {len(cores())} cores here; got {self.processes}.")
        imports = tuple(dict.fromkeys((*self.imports, *planned_imports(self.file))))
        import_modules(imports)
        planned = read_plan(self.file)
        for run in planned:
            run.check()
        if self.dry_run:
            Console().print(table_of(planned, self.processes or len(cores())))
            return
        self.work(planned, imports)
        runs = shlex.quote(str(planned[0].folder.parents[2]))
        print(f"Finished: {len(planned)} runs. Try: openteam compare {runs}")

    def work(self, planned: list[PlannedRun], imports: tuple[str, ...]) -> None:
        """All that is left to do; a run that fails is named in the end and stops no other."""
        from openteam.commands.planning import PlanBars, begun, name_of
        from openteam.execution.processes import work_through
        from openteam.training.progress import ProgressBars

        failures: dict[Path, str] = {}
        again = command_line(f"openteam plan {shlex.quote(str(self.file))}", self.imports)
        with ProgressBars(max(map(name_of, planned), key=len)) as bars:
            shown = PlanBars(bars, planned)
            try:
                folders = begun(planned, failures)
                work_through(folders, shown, failures.__setitem__, processes=self.processes, imports=imports)
            except KeyboardInterrupt:
                raise UserError(f"Interrupted; nothing is lost. To go on: {again}") from None
        if failures:
            listed = " ".join(f"{folder}: {message}" for folder, message in failures.items())
            counted = f"{len(failures)} of {len(planned)} runs failed, the others are finished."
            raise UserError(f"{counted} {listed} To try again: {again}")
