"""``openteam beliefs``: how well what runs believe matches the truth, on the same episodes for all."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from rich.console import Console

from openteam.commands.checks import check_episodes, check_policy, check_runs
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.errors import UserError
from openteam.storage.imports import import_modules

if TYPE_CHECKING:
    from openteam.analysis.compare import Comparison


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
    episodes: Count = 8
    """How many episodes are played."""
    seed: Count = 0
    """Which episodes."""
    csv: Path | None = None
    """Also write a row per run and checkpoint there."""
    curves: Path | None = None
    """Also draw the metrics over training there: .png, .svg or .pdf."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        import_modules(self.imports)
        from openteam.analysis.compare import compare
        from openteam.analysis.reconstruction import logged
        from openteam.commands.belief_tables import as_csv, explanations, tables
        from openteam.commands.sheets import write
        from openteam.drawing.reconstruction_curves import draw_reconstruction

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
        console.print("\n".join(explanations(rows)))
        if self.csv:
            write(self.csv, as_csv(rows))
        if self.curves:
            draw_reconstruction(self.curves, rows)

    def check(self) -> None:
        """Everything that can be wrong before runs are read."""
        check_runs("beliefs", self.runs)
        check_episodes(self.episodes, self.seed)
        if self.player:
            check_policy(self.player)
        if self.curves:
            check_picture(self.curves)

    def replayed(self, comparison: Comparison) -> list[dict[str, Any]]:
        """All checkpoints on the same episodes, task by task."""
        from openteam.analysis.reconstruction import best_run, reconstruct
        from openteam.storage.policies import load
        from openteam.storage.run_folder import RunFolder

        rows: list[dict[str, Any]] = []
        for groups in comparison.tasks.values():
            player = self.player or best_run(dataclasses.replace(comparison, groups=tuple(groups)))
            task = RunFolder.open(groups[0].runs[0].path).build("task")
            rows += reconstruct(task, groups, load(player), episodes=self.episodes, seed=self.seed)
        return rows
