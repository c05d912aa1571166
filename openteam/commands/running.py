"""Runs with progress bars, stopped by Ctrl-C without loss."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from openteam.commands.importing import command_line
from openteam.errors import UserError
from openteam.storage.lease import watched_in_vain
from openteam.storage.lock import Terms
from openteam.training.driver import Progress, Report, run_folders
from openteam.training.progress import ProgressBars


def run_with_bar(
    folders: Sequence[Path], label: str, logger: Report, imports: Sequence[str] = (), devices: int = 1
) -> None:
    """Bring runs to their end in this process."""
    terms = Terms(stale=watched_in_vain(folders, print))
    with ProgressBars(label) as bars:
        resumable(lambda: run_folders(folders, report_to(bars, logger), terms, devices), folders, imports)


def report_to(*reports: Report) -> Report:
    """Report to several."""

    def report(progress: Progress) -> None:
        for one in reports:
            one(progress)

    return report


def resumable(work: Callable[[], None], folders: Sequence[Path], imports: Sequence[str] = ()) -> None:
    """On Ctrl-C, say how to go on: the state is already written."""
    try:
        work()
    except KeyboardInterrupt:
        target = folders[0] if len(folders) == 1 else folders[0].parent
        again = command_line(f"openteam resume {shlex.quote(str(target))}", imports)
        raise UserError(f"Interrupted; nothing is lost. To go on: {again}") from None
