"""Each table and figure of the paper, made from the runs that there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from openteam.analysis.aggregate import Aggregate, aggregates
from openteam.analysis.compare import Comparison
from openteam.analysis.evidence import Evidence
from openteam.analysis.reconstruction import best_run, logged, reconstruct
from openteam.analysis.series import Row
from openteam.analysis.shot_rows import shot_rows
from openteam.analysis.targets import TARGETS, Target, row_title
from openteam.commands import belief_tables, shot_tables
from openteam.commands.reproduction.findings import findings_csv, findings_sheet
from openteam.commands.reproduction.tables import MISSING, cells_csv, paper_sheet
from openteam.commands.reproduction.writing import Writer
from openteam.commands.sheets import Sheet
from openteam.drawing.aggregates import draw_aggregates
from openteam.drawing.compare_curves import draw_task
from openteam.drawing.reconstruction_curves import reconstruction_figure
from openteam.drawing.shot_curves import draw_accuracy, draw_utilities, draw_values
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder

NO_RUN = "No run that it needs is finished."


@dataclasses.dataclass(frozen=True)
class Products:
    """Makes what is asked for out of the evidence; FortAttack's policies play once for all figures that need it."""

    evidence: Evidence
    writer: Writer
    episodes: int
    replay_beliefs: bool
    """Judge beliefs on the same episodes for all, as the paper does; else on those that each run played itself."""
    shots: list[Row] = dataclasses.field(default_factory=list)

    def make(self, name: str) -> None:
        target = TARGETS[name]
        if not self.evidence.of(target):
            self.writer.missing(name, target.title, NO_RUN)
            if name in ("full", "partial", "unseen"):
                self.table(target)
            return
        makers: dict[str, Callable[[Target], None]] = {
            "full": self.with_curves, "partial": self.with_curves, "unseen": self.table, "iqm": self.iqm,
            "shooting": self.shooting, "utilities": self.utilities, "values": self.values,
            "reconstruction": self.reconstruction,
        }  # fmt: skip
        makers[name](target)

    def table(self, target: Target) -> None:
        self.writer.table(target.name, paper_sheet(target, self.evidence), cells_csv(target, self.evidence))
        findings = findings_sheet(target, self.evidence)
        if findings:
            self.writer.table(f"{target.name}-findings", findings, findings_csv(target, self.evidence))

    def with_curves(self, target: Target) -> None:
        """The table, and the learning curves that the paper has beside it: a picture per task."""
        self.table(target)
        for task in target.tasks:
            groups = [group for group in self.evidence.of(target) if group.task.name == task]
            if groups:
                title = f"{target.title.replace('(testing)', '(training)')}: {task}"
                self.writer.picture(f"{target.name}-training-{task}", title, draw_task(task, groups, ["train"]))
            else:
                self.writer.missing(f"{target.name}-training-{task}", f"Learning curves on {task}", NO_RUN)

    def iqm(self, target: Target) -> None:
        found = list(aggregates(target, self.evidence))
        sheet, csv = iqm_sheet(target, found, self.evidence.note), iqm_csv(target, found)
        self.writer.table(target.name, sheet, csv)
        self.writer.picture(target.name, target.title, draw_aggregates(found, target.tasks, target.rows))

    def shooting(self, target: Target) -> None:
        rows = self.shots_of(target)
        self.shot_table(target, shot_tables.last_sheet(target.title, rows, shot_tables.DONE), rows)
        self.picture_of_shots(target, draw_accuracy(rows))

    def utilities(self, target: Target) -> None:
        rows = self.shots_of(target)
        self.shot_table(target, shot_tables.last_sheet(target.title, rows, shot_tables.WORTH), rows)
        for sheet in shot_tables.training_sheets(target.title, rows):
            self.writer.table("utilities-correlation", sheet, shot_tables.as_csv(rows))
        self.picture_of_shots(target, draw_utilities(rows))

    def values(self, target: Target) -> None:
        rows = self.shots_of(target)
        self.shot_table(target, shot_tables.last_sheet(target.title, rows, ("return", "value_1", "value_2")), rows)
        self.picture_of_shots(target, draw_values(rows))

    def shots_of(self, target: Target) -> list[Row]:
        """What every checkpoint does with its shots; played when first asked for."""
        needed = [self.evidence.groups[task, row] for task in target.tasks for row in target.rows
                  if (task, row) in self.evidence.groups]  # fmt: skip
        names = {group.shown for group in needed}
        new = [group for group in needed if group.shown not in {row["algorithm"] for row in self.shots}]
        self.shots.extend(shot_rows(new, episodes=self.episodes))
        return [row for row in self.shots if row["algorithm"] in names]

    def shot_table(self, target: Target, sheet: Sheet, rows: list[Row]) -> None:
        noted = dataclasses.replace(sheet, caption=f"{self.evidence.note} {sheet.caption}".strip())
        there = {row["algorithm"] for row in rows}
        absent = [row_title(row) for row in target.rows if row_title(row) not in there]
        blank = [MISSING] * (len(sheet.head) - 1)
        noted = dataclasses.replace(noted, rows=[*noted.rows, *([name, *blank] for name in absent)])
        self.writer.table(target.name, noted, shot_tables.as_csv(rows))

    def picture_of_shots(self, target: Target, figure: Any | None) -> None:
        if figure is None:
            self.writer.missing(target.name, target.title, "No stored checkpoint has such values.")
        else:
            self.writer.picture(target.name, target.title, figure)

    def reconstruction(self, target: Target) -> None:
        """Figures "Action", "State" and "Existence reconstruction accuracy" in one, a line of panels per world."""
        rows = [row for task in target.tasks for row in self.beliefs_on(task, target)]
        if not rows:
            self.writer.missing(target.name, target.title, "None of the runs holds a belief.")
            return
        self.writer.table(target.name, reconstruction_sheet(target, rows, self.how_judged), belief_tables.as_csv(rows))
        self.writer.picture(target.name, target.title, reconstruction_figure(rows))

    def beliefs_on(self, task: str, target: Target) -> list[Row]:
        groups = [group for group in self.evidence.of(target) if group.task.name == task]
        if not self.replay_beliefs or not groups:
            return list(logged(groups))
        player = load(best_run(Comparison(tuple(groups), ())))
        world = RunFolder.open(groups[0].runs[0].path).build("task")
        return list(reconstruct(world, groups, player, episodes=self.episodes))

    @property
    def how_judged(self) -> str:
        judged = (
            "Judged on the same episodes for all, played by the run with the highest return on train."
            if self.replay_beliefs
            else "Judged on the episodes that each run played itself at its checkpoints (openteam beliefs --logged)."
        )
        return f"{self.evidence.note} {judged}".strip()


def iqm_sheet(target: Target, found: list[Aggregate], note: str) -> Sheet:
    """A row per algorithm, a column per world."""
    places = {(one.task, one.row): one for one in found}

    def text(task: str, row: str) -> str:
        one = places.get((task, row))
        return f"{one.middle:.2f} ({one.low:.2f} to {one.high:.2f}; {one.scores})" if one else MISSING

    rows = [[row_title(row), *(text(task, row) for task in target.tasks)] for row in target.rows]
    caption = (
        f"{note} Interquartile mean of the last checkpoint's mean returns over seeds in teams of up to 3 (train) and "
        "up to 5 (larger), in brackets its 95 % interval (bootstrap, stratified by team size) and the number of "
        "scores. The paper shows this as a figure without numbers."
    ).strip()
    return Sheet(target.title, ["algorithm", *target.tasks], rows, caption)


def iqm_csv(target: Target, found: list[Aggregate]) -> str:
    """Numbers in full."""
    places = {(one.task, one.row): one for one in found}
    lines = ["task,row,interquartile_mean,low,high,scores"]
    for task in target.tasks:
        for row in target.rows:
            one = places.get((task, row))
            lines.append(
                f"{task},{row}," + (f"{one.middle!r},{one.low!r},{one.high!r},{one.scores}" if one else ",,,0")
            )
    return "\n".join(lines) + "\n"


def reconstruction_sheet(target: Target, rows: list[Row], how: str) -> Sheet:
    """The last checkpoint of every row: means over seeds."""
    metrics = ("seen_actions", "all_actions", "state", "existence_error")
    lines = []
    for task in target.tasks:
        for row in target.rows:
            ours = [one for one in rows if one["task"] == task and one["algorithm"] == row_title(row)]
            last = [one for one in ours if one["step"] == max(each["step"] for each in ours)]
            lines.append([task, row_title(row), *(over_seeds(last, metric) for metric in metrics)])
    head = ["task", "algorithm", *(metric.replace("_", " ") for metric in metrics)]
    caption = f"{how} Last checkpoint; actions and state: log likelihood; existence: squared error. Mean (seeds)."
    return Sheet(target.title, head, lines, caption)


def over_seeds(rows: list[Row], metric: str) -> str:
    """Mean and number of seeds; a dash where a belief does not say it."""
    values = [row[metric] for row in rows if metric in row]
    return f"{sum(values) / len(values):.3f} ({len(values)})" if values else ("-" if rows else MISSING)
