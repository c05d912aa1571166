"""``openteam crossplay``: learners with each teammate type alone, in teams of several sizes."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.console import Console

from openteam.commands.checks import check_episodes, check_runs, check_tasks
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.errors import UserError, check_whole
from openteam.storage.imports import import_modules

if TYPE_CHECKING:
    from openteam.analysis.crossplay import Matrix
    from openteam.commands.sheets import Sheet

HEAD = ("learner", "kind", "seed", "type", "split", "size", "return", "run", "why")


@dataclasses.dataclass(frozen=True)
class Crossplay:
    """How good are learners with teammates that are all of one type, and how good could one be?

    Every run's last checkpoint plays with each type of the task alone, unseen types too, in every team size. Returns
    are normalised per type and size: 0 is a random learner, 1 the best response, the best of these runs and of all
    scripted and learned types in the learner's place, where they see everything. In FortAttack a type plays all guards
    and all attackers.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or folders with runs anywhere below."""
    task: str
    """The task whose runs are taken and whose types are met."""
    sizes: tuple[int, ...] = (3, 5)
    """Largest teams, the learner included."""
    episodes: Count = 128
    """Per learner, seed, type and size."""
    seed: Count = 0
    """Which episodes; the same for all learners."""
    csv: Path | None = None
    """Also write a row per learner, seed, type and size there."""
    markdown: Path | None = None
    """Also write the table there."""
    heat_map: Path | None = None
    """Also draw it there: .png, .svg or .pdf."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        import_modules(self.imports)
        from openteam.analysis.compare import compare
        from openteam.analysis.crossplay import crossplay_rows, matrix_of
        from openteam.commands.sheets import as_markdown, as_text, rows_csv, write
        from openteam.compile_cache import use_compile_cache
        from openteam.drawing.figures import save_picture
        from openteam.drawing.heatmap import draw_matrix
        from openteam.registry import make

        groups = [group for group in compare(self.runs).groups if group.task.name == self.task]
        if not groups:
            raise UserError(f"None of these runs is of the task '{self.task}'.")
        use_compile_cache()
        rows = list(crossplay_rows(make(self.task), groups, self.sizes, episodes=self.episodes, seed=self.seed))
        matrix = matrix_of(rows)
        sheet = matrix_sheet(self.task, matrix, self.episodes)
        Console(width=max(Console().width, 110)).print(as_text(sheet))
        for reason in dict.fromkeys(f"{row['learner']}: {row['why']}" for row in rows if "why" in row):
            print(reason)
        if self.csv:
            write(self.csv, rows_csv(rows, HEAD))
        if self.markdown:
            write(self.markdown, as_markdown(sheet))
        if self.heat_map:
            save_picture(draw_matrix(self.task, matrix), self.heat_map)

    def check(self) -> None:
        """Everything that can be wrong before runs are read."""
        check_runs("crossplay", self.runs)
        check_episodes(self.episodes, self.seed)
        check_sizes(self.sizes)
        if not self.imports:
            check_tasks([self.task])
        if self.heat_map:
            check_picture(self.heat_map)


def check_sizes(sizes: tuple[int, ...]) -> None:
    """Raise unless these can be teams."""
    if not sizes:
        raise UserError("--sizes needs at least one team size, as in: --sizes 3 5.")
    for size in sizes:
        check_whole("--sizes", size, 2, 1000)


def matrix_sheet(task: str, matrix: Matrix, episodes: int) -> Sheet:
    """A row per type and size: what random and best response get there, and the normalised returns of all learners."""
    from openteam.commands.sheets import Sheet

    rows = []
    for number, (name, size) in enumerate(matrix.places):
        best = f"{matrix.best[number]:.2f} {matrix.best_names[number]}"
        scores = [number_or_dash(value) for value in matrix.normalised[:, number]]
        rows.append([name, str(size), f"{matrix.random[number]:.2f}", best, *scores])
    caption = (
        "Return of a random learner, and of the best response with its name; then each learner between the "
        f"two: 0 is random, 1 the best response. {episodes} episodes each, means over seeds; a dash where a learner "
        "cannot be in such a team or nobody is better than random."
    )
    return Sheet(f"Cross-play on {task}", ["type", "team", "random", "best response", *matrix.learners], rows, caption)


def number_or_dash(value: float) -> str:
    """``0.83``, or a dash for what is not there."""
    return "-" if math.isnan(value) else f"{value:.2f}"
