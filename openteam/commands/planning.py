"""The runs of a plan at work: their folders, their progress, and what would be done with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Column, Table

from openteam.errors import UserError
from openteam.execution.estimate import USUAL, in_words, measured_speeds, seconds_for, total_time
from openteam.execution.plan import PlannedRun, unfinished, what_to_do
from openteam.training.driver import Progress
from openteam.training.progress import ProgressBars


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
        self.names = {run.folder: f"seed {run.seed}: {name_of(run)}" for run in planned}
        self.steps = {run.folder: min(run.step or 0, run.settings.steps) for run in planned if run.exists}
        total = sum(run.settings.steps for run in planned)
        self.all = bars.bars.add_task(f"all {len(planned)} runs", total=total, speed="", latest="")

    def __call__(self, folder: Path, progress: Progress) -> None:
        self.bars.show(self.names[folder], progress)
        self.steps[folder] = progress.step
        self.bars.bars.update(self.all, completed=sum(self.steps.values()))
        if progress.step >= progress.steps and progress.evaluation is not None and self.names[folder] in self.bars.rows:
            self.bars.bars.update(self.bars.rows[self.names[folder]], visible=False)


def name_of(run: PlannedRun) -> str:
    """Algorithm and task."""
    return f"{run.folder.parent.name} on {run.task}"


def table_of(planned: list[PlannedRun], processes: int) -> Table:
    """What would be done, and how long it would take by the speed of earlier runs on this machine."""
    left = unfinished(planned)
    to_do = {run.folder: run.settings.steps - (run.step or 0) for run in left}
    speeds = measured_speeds(dict.fromkeys((*(run.folder.parents[2] for run in planned), *USUAL)))
    times = {run.folder: seconds_for(run.config, to_do[run.folder], speeds) for run in left}
    title = f"{len(left)} of {len(planned)} runs to do, {sum(to_do.values()):,} steps"
    caption = total_time([*times.values()], processes)
    table = Table(Column("run", overflow="fold"), "steps", "to do", "time", title=title, caption=caption)
    for run in planned:
        time = in_words(times[run.folder]) if run.folder in times else ""
        table.add_row(str(run.folder), f"{run.settings.steps:,}", what_to_do(run), time)
    return table
