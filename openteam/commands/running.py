"""Runs with progress bars, stopped by Ctrl-C without loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from openteam.errors import UserError
from openteam.training.driver import Progress, Report, Training
from openteam.training.progress import ProgressBars


def go_on(training: Training, label: str, logger: Report) -> None:
    """Run in this process, with a bar."""
    with ProgressBars(label) as bars:
        interruptible(lambda: training.run(both(bars, logger)), [folder.path for folder in training.folders])


def both(first: Report, second: Report) -> Report:
    """Report to two."""

    def report(progress: Progress) -> None:
        first(progress)
        second(progress)

    return report


def interruptible(work: Callable[[], None], folders: Sequence[Path]) -> None:
    """On Ctrl-C, say how to go on: the state is already written."""
    try:
        work()
    except KeyboardInterrupt:
        target = folders[0] if len(folders) == 1 else folders[0].parent
        raise UserError(f"Interrupted; nothing is lost. To go on: openteam resume {target}") from None
