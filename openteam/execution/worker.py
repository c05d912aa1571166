"""A worker: takes unfinished runs one after another, whoever else does the same on this or any other machine.

Nobody hands runs out. Each worker looks through the same list for a run that nobody is at, and claims it by its lease
(``storage/lease.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from openteam.errors import UserError
from openteam.execution.plan import PlannedRun
from openteam.execution.processes import Died, work_through
from openteam.storage.lease import LEASE_SECONDS, Lease, Patience, Verdict, current_lease
from openteam.storage.lock import Held, Lost, Terms
from openteam.storage.run_folder import RunFolder, is_run
from openteam.training.driver import Progress

ATTEMPTS = 3
"""At a run whose processes die one after another before it gets any further."""


class RunOnDisk:
    """A run that has been made."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; a damaged run is begun, and says then what is wrong with it."""
        try:
            return RunFolder(self.folder).finished
        except UserError:
            return False

    def begin(self) -> None:
        """It has been made."""


Run = PlannedRun | RunOnDisk
"""To be brought to its end. Both know their folder, whether they are finished, and how to begin."""


def runs_below(folder: Path) -> list[RunOnDisk]:
    """All runs in a folder, or the run that it is."""
    return [RunOnDisk(config.parent) for config in sorted(folder.rglob("config.json")) if is_run(config)]


class Queue:
    """The runs that are left to do, as an iterator: the next one that nobody is at, or None if all have somebody."""

    def __init__(self, runs: Sequence[Run], seconds: float = LEASE_SECONDS, wait: bool = True):
        self.left = {run.folder: run for run in runs}
        self.at_work: set[Path] = set()
        self.failures: dict[Path, str] = {}
        self.patience, self.verdicts, self.stale = Patience(), dict[Path, Verdict](), dict[Path, Lease]()
        self.seconds, self.wait = seconds, wait
        self.old_failures = {folder: lease for folder in self.left if (lease := current_lease(folder)) is not None}

    def __iter__(self) -> Iterator[Path | None]:
        return self

    def __next__(self) -> Path | None:
        held = False
        for folder, run in list(self.left.items()):
            if folder in self.at_work:
                continue
            if self.is_held(folder):
                held |= self.wait or self.verdicts[folder] == "unknown"
            elif self.can_begin(run):
                self.at_work.add(folder)
                return folder
        if self.at_work or held:
            return None
        raise StopIteration

    def is_held(self, folder: Path) -> bool:
        """Whether somebody else is, or may be, at a run. Who is known to live is waited for only if that was asked."""
        lease = current_lease(folder)
        if lease is None or lease.state != "held":
            return False
        self.verdicts[folder] = self.patience.judge(folder, lease)
        if self.verdicts[folder] != "stale":
            return True
        self.stale[folder] = lease
        return False

    def can_begin(self, run: Run) -> bool:
        """Whether there is something to do; one that is finished, or that others have failed at, is crossed out."""
        failure = failure_of(current_lease(run.folder), self.old_failures.get(run.folder))
        if failure is not None:
            self.cross_out(run.folder, failure)
            return False
        if run.finished:
            self.cross_out(run.folder)
            return False
        try:
            run.begin()
        except UserError as error:
            self.cross_out(run.folder, str(error))
            return False
        return True

    def cross_out(self, folder: Path, failure: str | None = None) -> None:
        """Nothing more can be done for a run."""
        del self.left[folder]
        if failure is not None:
            self.failures[folder] = failure

    def terms(self, folder: Path) -> Terms:
        """How a run that was handed out may be claimed."""
        return Terms(self.seconds, (self.stale.pop(folder),) if folder in self.stale else ())

    def ended(self, folder: Path, error: UserError | None) -> None:
        """A run that we were at. It stays on the list if somebody else has it, or if its process died."""
        self.at_work.discard(folder)
        if error is None:
            self.cross_out(folder)
        elif isinstance(error, (Held, Lost)):
            return
        elif not isinstance(error, Died) or deaths_of(folder) >= ATTEMPTS:
            self.cross_out(folder, str(error))

    def held(self) -> dict[Path, str]:
        """What is left in the end because somebody else is at it, and who."""
        return {folder: f"{folder} is being trained by another process or thread." for folder in self.left}


def failure_of(lease: Lease | None, before: Lease | None) -> str | None:
    """Why nobody should try a run again; what failed before we came is worth another try."""
    if lease is None or lease.same_as(before):
        return None
    if lease.state == "held" and lease.deaths + 1 >= ATTEMPTS:
        return f"Its processes died {lease.deaths + 1} times before it got any further."
    return lease.failure if lease.state == "failed" else None


def deaths_of(folder: Path) -> int:
    """How many processes in a row died at a run before it got any further, including the last."""
    lease = current_lease(folder)
    return lease.deaths + 1 if lease is not None and lease.state == "held" else 0


def work(
    runs: Sequence[Run],
    report: Callable[[Path, Progress], None] = lambda folder, progress: None,
    *,
    processes: int | None = None,
    gpus: int = 0,
    pinned: bool = True,
    imports: Sequence[str] = (),
    seconds: float = LEASE_SECONDS,
    wait: bool = True,
) -> dict[Path, str]:
    """Bring runs to their end with processes on this machine. What could not be done, and why.

    With ``wait``, stay until those that others are at are finished, too: somebody may have to take over.
    """
    queue = Queue(runs, seconds, wait)
    work_through(
        queue, report, queue.ended, processes=processes, gpus=gpus, pinned=pinned, imports=imports, terms=queue.terms,
        pause=min(5.0, seconds / 8),
    )  # fmt: skip
    return queue.failures | queue.held()
