"""The runs of a plan: which they are, what would be done with them, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Column, Table

from openteam.errors import UserError
from openteam.execution.estimate import USUAL, in_words, measured_speeds, seconds_for, total_time
from openteam.execution.plan import PlannedRun, planned_imports, read_plan, unfinished, what_to_do
from openteam.execution.slots import cores, slots
from openteam.storage.imports import import_modules

if TYPE_CHECKING:
    from openteam.execution.worker import Run


def runs_of(target: Path, imports: Sequence[str]) -> tuple[Sequence[Run], tuple[str, ...]]:
    """The runs of a plan file or of a folder, and the modules that they need, which are imported."""
    from openteam.execution.worker import runs_below

    if target.is_dir():
        import_modules(imports)
        runs = runs_below(target)
        if not runs:
            raise UserError(f"There is no run in {target}: no folder with a config.json.")
        return runs, tuple(imports)
    return planned_of(target, imports)


def planned_of(file: Path, imports: Sequence[str]) -> tuple[list[PlannedRun], tuple[str, ...]]:
    """The runs of a plan, each checked, and the modules that they need, which are imported."""
    modules = tuple(dict.fromkeys((*imports, *planned_imports(file))))
    import_modules(modules)
    planned = read_plan(file)
    for run in planned:
        run.check()
    return planned, modules


def check_workers(workers: int | None, gpus: int) -> None:
    """Raise unless so many runs have room on this machine."""
    if gpus:
        slots(workers, gpus)
    elif workers is not None and not 1 <= workers <= len(cores()):
        raise UserError(f"--workers must lie between 1 and the {len(cores())} cores here; got {workers}.")


def listed(failures: Mapping[Path, str], runs: int) -> str:
    """What failed, and why."""
    each = " ".join(f"{folder}: {message}" for folder, message in failures.items())
    return f"{len(failures)} of {runs} runs failed, the others are finished. {each}"


def table_of(planned: list[PlannedRun], processes: int) -> Table:
    """What would be done, and how long it would take by the speed of earlier runs on this machine."""
    left = unfinished(planned)
    steps = sum(run.settings.steps - (run.step or 0) for run in left)
    places = dict.fromkeys((*(run.folder.parents[2] for run in planned), *USUAL))
    speeds = measured_speeds(places, like=[run.given for run in left])
    times = {run.folder: seconds_for(run.given, run.settings.steps - (run.step or 0), speeds) for run in left}
    table = Table(
        Column("run", overflow="fold"),
        "steps",
        "to do",
        "time",
        title=f"{len(left)} of {len(planned)} runs to do, {steps:,} steps",
        caption=total_time([*times.values()], processes),
    )
    for run in planned:
        time = "" if run.finished else in_words(times[run.folder])
        table.add_row(str(run.folder), f"{run.settings.steps:,}", what_to_do(run), time)
    return table
