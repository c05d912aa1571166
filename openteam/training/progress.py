"""A progress bar per seed: how far, how fast, how long still, how good."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from openteam.training.driver import Progress


class ProgressBars:
    """Shows what runs report. On a terminal it moves; in a file it is a line per checkpoint."""

    def __init__(self, label: str, console: Console | None = None):
        self.label = label
        self.console = console or Console(stderr=True)
        shown = columns(self.console.width, len(f"seed 0: {label}"))
        self.bars = Bars(*shown, console=self.console, disable=not self.console.is_terminal)
        self.rows: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressBars:
        if self.console.is_terminal:
            self.bars.start()
            self.bars.add_task("compiling (the first time takes longest)", total=None, speed="", latest="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def __call__(self, progress: Progress) -> None:
        self.show(f"seed {progress.seed}: {self.label}", progress)

    def show(self, name: str, progress: Progress) -> None:
        """What the run of that name reports."""
        if not self.console.is_terminal:
            if progress.evaluation is not None:
                self.console.print(f"{name}  step {progress.step:,} of {progress.steps:,}  "
                                   f"{describe(progress.evaluation)}", highlight=False, markup=False)  # fmt: skip
            return
        if name not in self.rows:
            if not self.rows:
                self.bars.remove_task(self.bars.task_ids[0])
            self.rows[name] = self.bars.add_task(name, total=progress.steps, speed="", latest="")
        fields = {}
        if progress.steps_per_second is not None:
            fields["speed"] = f"{progress.steps_per_second:,.0f} steps/s"
        if progress.evaluation is not None:
            fields["latest"] = describe(progress.evaluation)
        self.bars.update(self.rows[name], completed=progress.step, total=progress.steps, **fields)


def columns(width: int, name: int) -> list[ProgressColumn]:
    """What there is room for beside names of that length: how far and how long still always, a long name cut first."""
    steps, left = Steps(table_column=cut(11)), TimeRemainingColumn(compact=True, table_column=cut(7))
    room = width - 20  # with their gaps
    shown: list[ProgressColumn] = [TextColumn("{task.description}", markup=False, table_column=cut(room)), steps, left]
    room -= name
    if room >= 11:
        shown.insert(1, BarColumn(10))
    if room >= 11 + 15:
        shown.append(TextColumn("{task.fields[speed]}", table_column=cut(14)))
    if room >= 11 + 15 + 18:
        shown.append(TextColumn("{task.fields[latest]}", table_column=cut(room - 11 - 15 - 1)))
    return shown


def cut(width: int) -> Column:
    """A column that is never wider, and ends in an ellipsis where its text is."""
    return Column(no_wrap=True, overflow="ellipsis", max_width=width)


class Steps(ProgressColumn):
    """``1.25M/6.40M``."""

    def render(self, task: Task) -> Text:
        return Text(f"{short(task.completed)}/{short(task.total)}" if task.total else "", style="progress.download")


def short(steps: int | float) -> str:
    """Steps in at most five letters."""
    if steps < 10_000:
        return f"{steps:.0f}"
    return f"{steps / 1e3:.0f}k" if steps < 999_500 else f"{steps / 1e6:.4g}M"


def describe(evaluation: dict[str, float]) -> str:
    """Mean returns of all splits."""
    return "return " + ", ".join(f"{split} {mean:.2f}" for split, mean in evaluation.items())
