"""``openteam compare``: any set of runs as a table beside the paper's, and as learning curves."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro
from rich.console import Console

from openteam.commands.checks import check_runs
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.errors import UserError
from openteam.storage.imports import import_modules

if TYPE_CHECKING:
    from openteam.analysis.compare import Comparison
    from openteam.commands.sheets import Sheet

WIDE = 120  # characters that the tables with most columns take


@dataclasses.dataclass(frozen=True)
class Compare:
    """Mean returns over seeds by task, algorithm and split, beside the paper's, and learning curves."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below."""
    at: Literal["best", "last", "last-quarter"] = "best"
    """Which checkpoint counts: the best by mean training return, as in the paper; the last; the mean of the last
    quarter."""
    released_rule: bool = False
    """Also show what the released code's stop rule would have reported, in which short episodes count more often."""
    against: str | None = None
    """Also compare all others with this algorithm: differences of runs with the same seed, effect sizes, and the
    probability of scoring more."""
    at_hours: float | None = None
    """Also show returns after the same steps and, beside them, after this many hours of training."""
    csv: Path | None = None
    """Also write a row per task, algorithm and split there."""
    markdown: Path | None = None
    """Also write the tables there."""
    curves: Path | None = None
    """Also draw learning curves there: .png, .svg or .pdf; with several tasks one file each, with its name in it."""
    profile: Path | None = None
    """Also draw performance profiles there: which part of an algorithm's runs scores more than any given return."""
    json: Path | None = None
    """Also write all episodes of all checkpoints there, in the layout of marl-eval."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_runs("compare", self.runs)
        for picture in (self.curves, self.profile):
            if picture:
                check_picture(picture)
        if self.at_hours is not None and not 0 < self.at_hours < math.inf:
            raise UserError(f"--at-hours must be more than 0 hours; got {self.at_hours:g}.")
        import_modules(self.imports)
        from openteam.analysis.compare import compare
        from openteam.commands.sheets import as_markdown, as_text, write

        comparison = compare(self.runs)
        for sentence in comparison.left_out:
            print(sentence)
        if not comparison.groups:
            raise UserError("None of these runs can be compared.")
        sheets, further = self.sheets(comparison), self.against or self.at_hours
        console = Console(width=max(Console().width, WIDE)) if further else Console()
        for sheet in sheets:
            console.print(as_text(sheet))
        if self.markdown:
            write(self.markdown, "\n".join(map(as_markdown, sheets)))
        self.write_data(comparison)
        self.draw(comparison)

    def sheets(self, comparison: Comparison) -> list[Sheet]:
        """All tables that were asked for."""
        from openteam.commands.compare_tables import against_sheets, hours_sheets
        from openteam.commands.sheets import sheets_of

        sheets = sheets_of(comparison, self.at, self.released_rule)
        sheets += against_sheets(comparison, self.against, self.at) if self.against else []
        return sheets + (hours_sheets(comparison, self.at_hours) if self.at_hours else [])

    def write_data(self, comparison: Comparison) -> None:
        """Files for other programs."""
        from openteam.analysis.marl_eval import marl_eval_data
        from openteam.commands.sheets import as_csv, write

        if self.csv:
            write(self.csv, as_csv(comparison, self.at))
        if self.json:
            write(self.json, json.dumps(marl_eval_data(comparison, self.at)))

    def draw(self, comparison: Comparison) -> None:
        """Pictures."""
        from openteam.drawing.compare_curves import draw_comparison
        from openteam.drawing.profile_curves import draw_profiles

        if self.curves:
            for path in draw_comparison(self.curves, comparison):
                print(f"Learning curves: {path}")
        if self.profile:
            draw_profiles(self.profile, comparison, self.at)
            print(f"Performance profiles: {self.profile}")
