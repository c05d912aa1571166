"""The runs behind the paper's tables and figures: for every task and row of the paper, seeds of one algorithm."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from openteam.analysis.compare import At, Comparison, Group, Reading, read_run
from openteam.analysis.labels import Label
from openteam.analysis.paper import published, row_of
from openteam.analysis.targets import Target, row_title
from openteam.errors import UserError
from openteam.execution.plan import PlannedRun

Place = tuple[str, str]  # task and row


@dataclasses.dataclass(frozen=True)
class Cell:
    """One number of a table, beside the paper's. What has no finished run has no numbers."""

    task: str
    row: str
    group: Group | None
    estimate: tuple[float, float] | None
    paper: tuple[float, float] | None


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Finished runs by task and row, how many seeds were wanted, and what a reader must know about them."""

    groups: dict[Place, Group]
    seeds: int | None = None
    note: str = ""
    left_out: tuple[str, ...] = ()

    def of(self, target: Target) -> list[Group]:
        """Those that a table or figure needs and that are there, by task and row."""
        return list(self.places(target).values())

    def places(self, target: Target) -> dict[Place, Group]:
        """The same with where each belongs."""
        places = [(task, row) for task in target.tasks for row in target.rows]
        return {place: self.groups[place] for place in places if place in self.groups}

    def cell(self, target: Target, task: str, row: str, at: At = "best") -> Cell:
        group = self.groups.get((task, row))
        ours = None if group is None or target.split not in group.splits else group.estimate(target.split, at)
        return Cell(task, row, group, ours, published(task, row, target.split))


def planned_evidence(planned: Sequence[PlannedRun], rows: dict[Path, str], seeds: int, note: str) -> Evidence:
    """Of runs that were planned for it, of which those count that came to their end."""
    readings: dict[Place, list[Reading]] = {}
    left_out = []
    for run in planned:
        try:
            reading = read_run(run.folder)
        except UserError as error:
            left_out.append(str(error))
            continue
        if reading.finished:
            readings.setdefault((run.task, rows[run.folder]), []).append(reading)
        else:
            left_out.append(f"{run.folder} is not finished and does not count.")
    return Evidence({place: as_group(place, found) for place, found in readings.items()}, seeds, note, tuple(left_out))


def as_group(place: Place, readings: Iterable[Reading]) -> Group:
    """Seeds of one row, called as in the paper."""
    runs = tuple(sorted(readings, key=lambda reading: reading.config["seed"]))
    task, row = place
    return Group(Label(task), Label(row), runs[0].config["settings"]["steps"], True, runs, row_title(row))


def stored_evidence(comparison: Comparison, targets: Iterable[Target], note: str = "") -> Evidence:
    """Of any runs there are: for each place the seeds that can best be compared with the other rows of its task."""
    chosen: dict[Place, Group] = {}
    finished = [group for group in comparison.groups if group.finished]
    for task, rows in rows_by_task(targets).items():
        kin = {
            row: [one for one in finished if (one.task.name, row_of(one.algorithm.name)) == (task, row)] for row in rows
        }
        variants = Counter((one.task, one.steps) for groups in kin.values() for one in unique_variants(groups))
        for row, groups in kin.items():
            if groups:
                best = max(groups, key=lambda one: preference(one, variants))
                chosen[task, row] = dataclasses.replace(best, shown=row_title(row))
    return Evidence(chosen, None, note, comparison.left_out)


def rows_by_task(targets: Iterable[Target]) -> dict[str, list[str]]:
    """Every row of every task, once."""
    places = dict.fromkeys((task, row) for target in targets for task in target.tasks for row in target.rows)
    return {task: [row for other, row in places if other == task] for task in dict.fromkeys(task for task, _ in places)}


def unique_variants(groups: Iterable[Group]) -> list[Group]:
    """One of each task's rules and length."""
    return list({(group.task, group.steps): group for group in groups}.values())


def preference(group: Group, variants: Counter[tuple[Label, int]]) -> tuple[int, int, int, int]:
    """First the rules and length that most rows have, then seeds, then steps, then the fewest changed settings."""
    return variants[group.task, group.steps], len(group.runs), group.steps, -len(group.algorithm.changes)
