"""``openteam plan``: bring all runs of a plan file to their end, every core busy with one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Column, Table

from openteam.commands.importing import Imports, command_line
from openteam.errors import UserError
from openteam.execution.estimate import USUAL, in_words, measured_speeds, seconds_for, total_time
from openteam.execution.plan import PlannedRun, planned_imports, read_plan, unfinished, what_to_do
from openteam.execution.processes import cores, work_through
from openteam.storage.imports import import_modules
from openteam.training.driver import Progress
from openteam.training.progress import ProgressBars


@dataclasses.dataclass(frozen=True)
class Plan:
    """Runs of a plan file: skip what is finished, resume what is not, start the rest."""

    file: tyro.conf.Positional[Path]
    """The plan, TOML or JSON; docs/compare.md says what may be in it."""
    processes: int | None = None
    """Runs at a time, each pinned to a core of its own; by default one per core."""
    dry_run: bool = False
    """Only say what would be done, and how long it would take."""
    imports: Imports = ()

    def __call__(self) -> None:
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
        Console().print(f"Finished: {len(planned)} runs. Try: openteam compare {planned[0].folder.parents[2]}")

    def work(self, planned: list[PlannedRun], imports: tuple[str, ...]) -> None:
        """All that is left to do; a run that fails is named in the end and stops no other."""
        failures: dict[Path, str] = {}
        again = command_line(f"openteam plan {self.file}", self.imports)
        with ProgressBars(self.file.stem) as bars:
            shown = PlanBars(bars, planned)
            try:
                folders = begun(planned, failures)
                work_through(folders, shown, failures.__setitem__, processes=self.processes, imports=imports)
            except KeyboardInterrupt:
                raise UserError(f"Interrupted; nothing is lost. To go on: {again}") from None
        if failures:
            told = " ".join(f"{folder}: {message}" for folder, message in failures.items())
            raise UserError(
                f"{len(failures)} of {len(planned)} runs failed, the others are finished. {told} To try again: {again}"
            )


def begun(planned: list[PlannedRun], failures: dict[Path, str]) -> Iterator[Path]:
    """Folders of unfinished runs, each made when its turn comes."""
    for run in unfinished(planned):
        try:
            run.begin()
        except UserError as error:
            failures[run.folder] = str(error)
        else:
            yield run.folder


class PlanBars:
    """A bar for all steps of the plan, and one for every run that is at work."""

    def __init__(self, bars: ProgressBars, planned: list[PlannedRun]):
        self.bars = bars
        self.names = {run.folder: f"{run.task} {run.folder.parent.name} seed {run.seed}" for run in planned}
        self.steps = {run.folder: min(run.step or 0, run.settings.steps) for run in planned if run.exists}
        total = sum(run.settings.steps for run in planned)
        self.all = bars.bars.add_task(f"all {len(planned)} runs", total=total, speed="", latest="")

    def __call__(self, folder: Path, progress: Progress) -> None:
        self.bars.show(self.names[folder], progress)
        self.steps[folder] = progress.step
        self.bars.bars.update(self.all, completed=sum(self.steps.values()))
        if progress.step >= progress.steps and progress.evaluation is not None and self.names[folder] in self.bars.rows:
            self.bars.bars.update(self.bars.rows[self.names[folder]], visible=False)


def table_of(planned: list[PlannedRun], processes: int) -> Table:
    """What would be done, and how long it would take by the speed of earlier runs on this machine."""
    left = unfinished(planned)
    steps = sum(run.settings.steps - (run.step or 0) for run in left)
    folders = dict.fromkeys((*(run.folder.parents[2] for run in planned), *USUAL))
    speeds = measured_speeds(folders)
    times = {run.folder: seconds_for(run.config, run.settings.steps - (run.step or 0), speeds) for run in left}
    title = f"{len(left)} of {len(planned)} runs to do, {steps:,} steps"
    table = Table(
        Column("run", overflow="fold"),
        "steps",
        "to do",
        "time",
        title=title,
        caption=total_time([*times.values()], processes),
    )
    for run in planned:
        time = "" if run.finished else in_words(times[run.folder])
        table.add_row(str(run.folder), f"{run.settings.steps:,}", what_to_do(run), time)
    return table
