"""``openteam compare``: any set of runs as a table beside the paper's, and as learning curves."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console

from openteam.commands.checks import check_runs
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.errors import UserError
from openteam.storage.imports import import_modules


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
    csv: Path | None = None
    """Also write a row per task, algorithm and split there."""
    markdown: Path | None = None
    """Also write the tables there."""
    curves: Path | None = None
    """Also draw learning curves there: .png, .svg or .pdf; with several tasks one file each, with its name in it."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_runs("compare", self.runs)
        if self.curves:
            check_picture(self.curves)
        import_modules(self.imports)
        from openteam.analysis.compare import compare
        from openteam.commands.sheets import as_csv, as_markdown, as_text, sheets_of, write
        from openteam.drawing.compare_curves import draw_comparison

        comparison = compare(self.runs)
        console = Console()
        for sentence in comparison.left_out:
            print(sentence)
        if not comparison.groups:
            raise UserError("None of these runs can be compared.")
        sheets = sheets_of(comparison, self.at, self.released_rule)
        for sheet in sheets:
            console.print(as_text(sheet))
        if self.csv:
            write(self.csv, as_csv(comparison, self.at))
        if self.markdown:
            write(self.markdown, "\n".join(map(as_markdown, sheets)))
        if self.curves:
            for path in draw_comparison(self.curves, comparison):
                print(f"Learning curves: {path}")
