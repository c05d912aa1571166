"""A progress bar per seed: how far, how fast, how long still, how good."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from openteam.training.driver import Progress


class ProgressBars:
    """Shows what runs report. On a terminal it moves; in a file it is a line per checkpoint."""

    def __init__(self, label: str, console: Console | None = None):
        self.label = label
        self.console = console or Console(stderr=True)
        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[latest]}"),
            console=self.console,
            disable=not self.console.is_terminal,
        )
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
        self.show(f"{self.label} seed {progress.seed}", progress)

    def show(self, name: str, progress: Progress) -> None:
        """What the run of that name reports."""
        if not self.console.is_terminal:
            if progress.evaluation is not None:
                self.console.print(f"{name}  step {progress.step:,} of {progress.steps:,}  "
                                   f"{describe(progress.evaluation)}", highlight=False)  # fmt: skip
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


def describe(evaluation: dict[str, float]) -> str:
    """Mean returns of all splits."""
    return "return " + ", ".join(f"{split} {mean:.2f}" for split, mean in evaluation.items())
