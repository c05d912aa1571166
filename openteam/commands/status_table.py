"""The table of runs at work, once or again and again."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Column, Table

from openteam.execution.status import ORDER, RunStatus, Watched

QUIET = ("finished", "waiting")  # states that are counted, and listed only on demand
SHARE = 200  # a look may take one part in so many of the time


def table_of_statuses(statuses: Sequence[RunStatus], every: bool = False, rows: int | None = None) -> Table | str:
    """A line per run that somebody is at, was at, or failed at; with ``every``, per run. At most ``rows`` of them.

    Where there is none, only the summary.
    """
    shown = sorted((one for one in statuses if every or one.state not in QUIET), key=lambda one: ORDER.index(one.state))
    if not shown:
        return summary(statuses)
    left_out = len(shown) - len(shown[:rows])
    right = {"justify": "right", "no_wrap": True}
    table = Table(
        Column("run", overflow="fold"), Column("state", overflow="fold", min_width=11), Column("progress", **right),
        Column("steps/s", **right), Column("return", **right), Column("where", no_wrap=True),
        Column("retries", **right),
        title=summary(statuses), caption=f"and {left_out} more" if left_out else None, title_justify="left",
    )  # fmt: skip
    root = common_folder([one.folder for one in statuses])
    for one in shown[:rows]:
        table.add_row(os.path.relpath(one.folder, root), *cells(one))
    return table


def cells(one: RunStatus) -> list[str]:
    """All columns but the first."""
    share = f"{one.step / one.steps:.0%}" if one.steps else ""
    speed = f"{one.speed:,.0f}" if one.speed is not None else ""
    value = f"{one.train_return:.2f}" if one.train_return is not None else ""
    return [one.failure or one.state, share, speed, value, one.where, str(one.retries or "")]


def summary(statuses: Sequence[RunStatus]) -> str:
    """``12 runs: 2 running, 7 waiting, 3 finished; 45 % of 3,840,000 steps``, and how long at this pace."""
    counts = Counter(one.state for one in statuses)
    listed = ", ".join(f"{counts[state]} {state}" for state in ORDER if counts[state])
    total = sum(one.steps for one in statuses)
    gone = sum(min(one.step, one.steps) for one in statuses)
    text = "1 run" if len(statuses) == 1 else f"{len(statuses)} runs"
    text += f": {listed}" + (f"; {gone / total:.0%} of {total:,} steps" if total else "")
    speed = sum(one.speed or 0.0 for one in statuses if one.state == "running")
    if not speed or not all(one.steps for one in statuses):  # of runs that are not made yet nothing is known
        return text
    hours, minutes = divmod(round((total - gone) / speed / 60), 60)
    return f"{text}; {hours} h {minutes:02d} min left at this pace" if hours else f"{text}; {minutes} min left"


def common_folder(folders: Sequence[Path]) -> str:
    """Above all of them; what they are called is what comes after it."""
    if len(folders) < 2:
        return str(folders[0].parent) if folders else "."
    return os.path.commonpath([os.path.abspath(folder) for folder in folders])


class StatusTable:
    """Shows how runs get on while somebody works on them, by looking at their files: whoever that is, and wherever.

    On a terminal it is a table that changes; in a file, a line for every tenth of a run.
    """

    def __init__(self, folders: Sequence[Path], console: Console | None = None):
        self.console = console or Console(stderr=True)
        self.watched = Watched(folders)
        self.root = common_folder(folders)
        self.shown: dict[Path, tuple[str, int]] = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._keep_showing, daemon=True)
        self.live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None

    def __enter__(self) -> StatusTable:
        if self.live is not None:
            self.live.start()
        for one in self.watched.look():
            self.shown[one.folder] = self.mark(one)
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.thread.join()
        self.show()
        if self.live is not None:
            self.live.stop()

    def show(self) -> None:
        """One look, and what is new of it."""
        statuses = self.watched.look()
        if self.live is not None:
            room = max(5, self.console.height - 8)
            self.live.update(table_of_statuses(statuses, rows=room), refresh=True)
            return
        for one in statuses:
            if self.mark(one) != self.shown[one.folder]:
                self.shown[one.folder] = self.mark(one)
                self.console.print(self.line(one), highlight=False, markup=False, soft_wrap=True)

    def mark(self, one: RunStatus) -> tuple[str, int]:
        """Changes when there is something to say."""
        return one.state, 10 * one.step // one.steps if one.steps else 0

    def line(self, one: RunStatus) -> str:
        name = os.path.relpath(one.folder, self.root)
        speed = f"  {one.speed:,.0f} steps/s" if one.speed is not None else ""
        value = f"  return {one.train_return:.2f}" if one.train_return is not None else ""
        where = f"  on {one.where}" if one.where else ""
        return f"{name}  {one.state}  step {one.step:,} of {one.steps:,}{speed}{value}{where}  {one.failure}".rstrip()

    def _keep_showing(self) -> None:
        """The more runs, the more seldom, so that looking costs next to nothing."""
        pause = 0.5
        while not self.ended.wait(pause):
            began = time.perf_counter()
            self.show()
            pause = max(1.0, SHARE * (time.perf_counter() - began))
