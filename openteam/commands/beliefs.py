"""``openteam beliefs``: how well what runs believe matches the truth, on the same episodes for all."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from openteam.analysis.compare import Comparison, compare
from openteam.analysis.reconstruction import best_run, logged, reconstruct
from openteam.commands.compare import write
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.drawing.reconstruction_curves import draw_reconstruction
from openteam.errors import UserError
from openteam.rollout.belief_scores import METRICS
from openteam.storage.imports import import_modules
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder


@dataclasses.dataclass(frozen=True)
class Beliefs:
    """Replay recorded episodes through every checkpoint of these runs and judge what each believes about them.

    With --logged, show what the runs wrote down themselves while they trained.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below."""
    logged: bool = False
    """Replay nothing: read each run's beliefs.jsonl, which is of episodes that it played itself."""
    player: Path | None = None
    """The run that plays the episodes; by default, per task, the one with the highest return on train."""
    episodes: int = 8
    """How many episodes are played."""
    seed: int = 0
    """Which episodes."""
    csv: Path | None = None
    """Also write a row per run and checkpoint there."""
    curves: Path | None = None
    """Also draw the metrics over training there: .png, .svg or .pdf."""
    imports: Imports = ()

    def __call__(self) -> None:
        if not self.runs:
            raise UserError("openteam beliefs needs runs, as in: openteam beliefs RUNS.")
        if self.episodes < 1:
            raise UserError(f"Beliefs are judged on at least 1 episode; got {self.episodes}.")
        if self.curves:
            check_picture(self.curves)
        import_modules(self.imports)
        comparison = compare(self.runs)
        for sentence in comparison.left_out:
            Console().print(sentence, highlight=False, soft_wrap=True)
        if not comparison.groups:
            raise UserError("None of these runs can be compared.")
        rows = list(logged(comparison.groups)) if self.logged else self.replayed(comparison)
        if not rows:
            raise UserError("None of these runs holds a belief: train gpl-q, ae-gpl, vae-gpl or pf-gpl.")
        console = Console(width=max(Console().width, 130))  # narrower, numbers would be cut
        for table in tables(rows):
            console.print(table)
        console.print("\n".join(f"{name.replace('_', ' ')}: {what}" for name, what in METRICS.items()))
        if self.csv:
            write(self.csv, as_csv(rows))
        if self.curves:
            draw_reconstruction(self.curves, rows)

    def replayed(self, comparison: Comparison) -> list[dict[str, Any]]:
        """All checkpoints on the same episodes, task by task."""
        rows: list[dict[str, Any]] = []
        for groups in comparison.tasks.values():
            player = self.player or best_run(dataclasses.replace(comparison, groups=tuple(groups)))
            task = RunFolder.open(groups[0].runs[0].path).build("task")
            rows += reconstruct(task, groups, load(player), episodes=self.episodes, seed=self.seed)
        return rows


def tables(rows: list[dict[str, Any]]) -> Iterator[Table]:
    """One per task: of every algorithm the last checkpoint, the mean over seeds."""
    for task in dict.fromkeys(row["task"] for row in rows):
        last = {(row["algorithm"], row["seed"]): row for row in rows if row["task"] == task}.values()
        table = Table(title=f"What is believed at the last checkpoint on {task}, mean over seeds")
        for name in ("algorithm", "seeds", "step", *METRICS):
            table.add_column(name.replace("_", " "))
        for algorithm in dict.fromkeys(row["algorithm"] for row in last):
            ours = [row for row in last if row["algorithm"] == algorithm]
            numbers = (f"{mean(row[metric] for row in ours):.3f}" if metric in ours[0] else "-" for metric in METRICS)
            table.add_row(algorithm, str(len(ours)), f"{ours[0]['step']:,}", *numbers)
        yield table


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Numbers in full; what a belief does not say is empty."""
    file = io.StringIO()
    table = csv.DictWriter(file, ("task", "algorithm", "seed", "step", *METRICS), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()
