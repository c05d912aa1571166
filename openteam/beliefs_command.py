"""``openteam beliefs``: how well what runs believe matches the truth, on the same episodes for all."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

from openteam.compare_command import write
from openteam.errors import UserError
from openteam.evaluation.beliefs import METRICS
from openteam.evaluation.compare import compare
from openteam.evaluation.drawing import check_picture
from openteam.evaluation.reconstruction import best_run, reconstruct
from openteam.evaluation.reconstruction_curves import draw_reconstruction
from openteam.results.config import from_json
from openteam.results.policies import load


@dataclasses.dataclass(frozen=True)
class Beliefs:
    """Replay recorded episodes through every checkpoint of these runs and judge what each believes about them."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below."""
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

    def __call__(self) -> None:
        if not self.runs:
            raise UserError("openteam beliefs needs runs, as in: openteam beliefs RUNS.")
        if self.episodes < 1:
            raise UserError(f"Beliefs are judged on at least 1 episode; got {self.episodes}.")
        if self.curves:
            check_picture(self.curves)
        comparison = compare(self.runs)
        rows: list[dict[str, Any]] = []
        for groups in comparison.tasks.values():
            player = self.player or best_run(dataclasses.replace(comparison, groups=tuple(groups)))
            task = from_json(groups[0].runs[0].config["task"])
            rows += reconstruct(task, groups, load(player), episodes=self.episodes, seed=self.seed)
        if not rows:
            raise UserError("None of these runs holds a belief: train gpl-q, ae-gpl, vae-gpl or pf-gpl.")
        Console().print(as_table(rows))
        if self.csv:
            write(self.csv, as_csv(rows))
        if self.curves:
            draw_reconstruction(self.curves, rows)


def as_table(rows: list[dict[str, Any]]) -> Table:
    """The last checkpoint of every run."""
    table = Table(title="What is believed at the last checkpoint", caption="; ".join(map(": ".join, METRICS.items())))
    for name in ("task", "algorithm", "seed", "step", *METRICS):
        table.add_column(name.replace("_", " "))
    last = {(row["task"], row["algorithm"], row["seed"]): row for row in rows}
    for row in last.values():
        numbers = (f"{row[metric]:.3f}" if metric in row else "-" for metric in METRICS)
        table.add_row(row["task"], row["algorithm"], str(row["seed"]), f"{row['step']:,}", *numbers)
    return table


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Numbers in full; what a belief does not say is empty."""
    file = io.StringIO()
    table = csv.DictWriter(file, ("task", "algorithm", "seed", "step", *METRICS), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()
