"""``openteam report``: all runs of a folder as one page."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from openteam.commands.checks import check_runs, check_suffix
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.storage.imports import import_modules


@dataclasses.dataclass(frozen=True)
class Report:
    """One self-contained page: the paper's tables beside ours, figures, every comparison, and the runs behind them.

    Every number links to its runs: configuration, seeds, commit, machine and command. Needs matplotlib.
    """

    folder: tyro.conf.Positional[Path]
    """A folder with runs anywhere below, such as results or what openteam reproduce wrote."""
    out: Path = Path("report.html")
    """The page."""
    imports: Imports = ()

    def __call__(self) -> None:
        if not (self.folder / "reproduction.json").is_file():
            check_runs("report", [self.folder])
        check_suffix("Reports are written", self.out, [".html"])
        check_picture(Path("figure.svg"))
        import_modules(self.imports)
        from openteam.commands.reporting.page import make_page
        from openteam.commands.sheets import write

        content = make_page(self.folder, self.out)
        write(self.out, content)
        print(f"Report: {self.out}, {len(content) / 1e6:.1f} MB")
