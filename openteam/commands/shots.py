"""``openteam shots``: what FortAttack's learners do with their shots, and what they think that shots are worth."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console

from openteam.commands.checks import check_episodes, check_runs
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.errors import UserError
from openteam.storage.imports import import_modules


@dataclasses.dataclass(frozen=True)
class Shots:
    """Let every stored checkpoint of FortAttack runs play, and measure its shooting and the utilities of shots.

    Shooting accuracy; the pairwise utility of a shot in the paper's four scenarios (GPL and CIAO); values of states
    with and without an attacker in a guard's range (all that learn action values); how scenario 1 goes with returns.
    A table that --csv wrote stands for the runs that it was made of.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below; tables of --csv."""
    episodes: Count = 256
    """How many episodes each checkpoint plays, of at most 100 steps; the paper has about 24,000 states a checkpoint."""
    seed: Count = 0
    """Which episodes. All checkpoints get the same random numbers."""
    csv: Path | None = None
    """Also write a row per run and checkpoint there."""
    markdown: Path | None = None
    """Also write the tables there."""
    curves: Path | None = None
    """Also draw the paper's figures: x.png becomes x-accuracy.png, x-utilities.png, x-values.png; .svg or .pdf too."""
    imports: Imports = ()

    def __call__(self) -> None:
        tables = [path for path in self.runs if path.suffix == ".csv"]
        folders = [path for path in self.runs if path not in tables]
        if folders or not tables:
            check_runs("shots", folders)
        check_episodes(self.episodes, self.seed)
        if self.curves:
            check_picture(self.curves)
        import_modules(self.imports)
        from openteam.analysis.compare import compare
        from openteam.analysis.shot_rows import fort_groups, shot_rows
        from openteam.commands.sheets import as_markdown, as_text, write
        from openteam.commands.shot_tables import as_csv, from_csv, sheets_of
        from openteam.compile_cache import use_compile_cache
        from openteam.drawing.shot_curves import draw_shots

        use_compile_cache()
        rows = [row for path in tables for row in from_csv(path)]
        if folders:
            comparison = compare(folders)
            for sentence in comparison.left_out:
                print(sentence)
            rows += shot_rows(fort_groups(comparison), episodes=self.episodes, seed=self.seed)
        if not rows:
            raise UserError("None of these runs has a stored checkpoint.")
        console = Console(width=max(Console().width, 150))  # narrower, numbers would be cut
        sheets = sheets_of(rows)
        for sheet in sheets:
            console.print(as_text(sheet))
        if self.csv:
            write(self.csv, as_csv(rows))
        if self.markdown:
            write(self.markdown, "\n".join(map(as_markdown, sheets)))
        if self.curves:
            for path in draw_shots(self.curves, rows):
                print(f"Picture: {path}")
