"""``openteam team-sizes``: returns in teams larger than any that the paper has."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from rich.console import Console

from openteam.commands.checks import check_episodes, check_runs
from openteam.commands.count import Count
from openteam.commands.crossplay import check_sizes
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.errors import UserError
from openteam.storage.imports import import_modules

if TYPE_CHECKING:
    from openteam.commands.sheets import Sheet

HEAD = ("task", "algorithm", "seed", "size", "return", "run", "why")


@dataclasses.dataclass(frozen=True)
class TeamSizes:
    """Returns of every run's last checkpoint in teams of up to 3, 5, 7, 9 and 20, as far as the world has room.

    3 and 5 are the task's own splits train and larger; other sizes have the open process of larger with another cap. In
    FortAttack there are as many attackers as guards.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below."""
    sizes: tuple[int, ...] = (3, 5, 7, 9, 20)
    """Largest teams, the learner included."""
    episodes: Count = 256
    """Per run and size."""
    seed: Count = 0
    """Which episodes; the same for all runs."""
    csv: Path | None = None
    """Also write a row per run and size there."""
    markdown: Path | None = None
    """Also write the tables there."""
    curves: Path | None = None
    """Also draw a curve per algorithm there: .png, .svg or .pdf."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_runs("team-sizes", self.runs)
        check_episodes(self.episodes, self.seed)
        check_sizes(self.sizes)
        if self.curves:
            check_picture(self.curves)
        import_modules(self.imports)
        from openteam.analysis.compare import compare
        from openteam.analysis.team_sizes import size_rows
        from openteam.commands.sheets import as_markdown, as_text, rows_csv, write
        from openteam.compile_cache import use_compile_cache
        from openteam.drawing.figures import save_picture
        from openteam.drawing.heatmap import draw_sizes

        use_compile_cache()
        comparison = compare(self.runs)
        if not comparison.groups:
            raise UserError("None of these runs can be compared.")
        rows = list(size_rows(comparison.groups, self.sizes, episodes=self.episodes, seed=self.seed))
        sheets = [size_sheet(task, rows, self.sizes, self.episodes) for task in comparison.tasks]
        for sheet in sheets:
            Console(width=max(Console().width, 110)).print(as_text(sheet))
        for reason in dict.fromkeys(f"{row['algorithm']}: {row['why']}" for row in rows if "why" in row):
            print(reason)
        if self.csv:
            write(self.csv, rows_csv(rows, HEAD))
        if self.markdown:
            write(self.markdown, "\n".join(map(as_markdown, sheets)))
        if self.curves:
            save_picture(draw_sizes(rows), self.curves)


def size_sheet(task: str, rows: Sequence[dict[str, Any]], sizes: Sequence[int], episodes: int) -> Sheet:
    """A row per algorithm, a column per team size."""
    from openteam.commands.sheets import Sheet, figure, seed_count
    from openteam.drawing.heatmap import size_curve

    lines = []
    ours = [row for row in rows if row["task"] == task]
    for name in dict.fromkeys(row["algorithm"] for row in ours):
        mine = [row for row in ours if row["algorithm"] == name]
        played, mean, half = size_curve([row for row in mine if "return" in row])
        found = {size: figure(*pair) for size, *pair in zip(played, mean, half, strict=True)}
        lines.append([name, seed_count(len({row["seed"] for row in mine})), *(found.get(size, "-") for size in sizes)])
    caption = (
        f"Mean return per episode of the last checkpoint, ± half its 95 % interval over seeds; {episodes} episodes per "
        "seed and size. A dash where the world has no room or the learner no slots."
    )
    return Sheet(task, ["algorithm", "seeds", *(f"up to {size}" for size in sizes)], lines, caption)
