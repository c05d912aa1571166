"""One writer per run folder, whoever it is and on whichever machine.

A writer holds the folder's lease (``lease.py``). It can be frozen at any moment and wake up after somebody else took
the run over. So every write is prepared first, then the lease is looked at, then the write is completed: rows on a
file that is already open, everything else by a rename. Whoever takes a run over puts copies in the place of the files
that rows go to and deletes all that was prepared, before it writes anything. Nothing that its predecessor still
completes can then be seen in the folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.storage.lease import (
    BEATS,
    LEASE_SECONDS,
    SIZE,
    Lease,
    current_lease,
    is_dead,
    lease_numbers,
    lease_path,
    read_lease,
    this_machine,
    this_process,
)
from openteam.storage.rows import ROW_FILES
from openteam.storage.writing import PARTIAL, partial_name


class Held(UserError):
    """Somebody else is at the run."""


class Lost(UserError):
    """The run is no longer ours: somebody took it over, or it is gone."""


@dataclasses.dataclass(frozen=True)
class Terms:
    """On what terms a run is claimed."""

    seconds: float = LEASE_SECONDS
    """How long the claim holds without being renewed."""
    stale: tuple[Lease, ...] = ()
    """Leases that are taken over though their owners may live: they were watched in vain for as long as they last."""


class Writer:
    """Who alone may write to a run, as long as the lease is his."""

    def __init__(self, folder: Path, descriptor: int, lease: Lease):
        self.folder = folder
        self.descriptor = descriptor
        self.lease = lease
        self.path = lease_path(folder, lease.number)
        self.ended = threading.Event()
        self.changing = threading.Lock()
        self.thread = threading.Thread(target=self._renew, daemon=True)

    def check(self) -> None:
        """Raise if the run is somebody else's by now, or gone. A file is opened, not only looked up: on network file
        systems that is what asks the server."""
        with self.changing:  # we would not understand what we are just writing
            mine = read_lease(self.path)
        if mine is not None and mine.owner == self.lease.owner:
            return
        other = current_lease(self.folder)
        if other is not None:
            raise Lost(f"{self.folder} was taken over {_by(other)}. Nothing more is written to it from here.")
        raise Lost(f"{self.folder} was removed or replaced while it was being trained. The training ends.")

    def note(self, **changes: Any) -> None:
        """Change what the lease says. It is written over in place: a lease that was removed does not come back."""
        with contextlib.suppress(OSError):  # a full disk: others see it later or not at all
            with self.changing:
                self.lease = dataclasses.replace(self.lease, beat=self.lease.beat + 1, **changes)
                _write(self.descriptor, self.lease)
            if self.lease.state == "held":  # else it is about to be closed, which other machines notice, too
                os.fsync(self.descriptor)

    def close(self) -> None:
        """Give the run back."""
        self.ended.set()
        self.thread.join()
        if self.lease.state == "held":
            self.note(state="free")
        os.close(self.descriptor)

    def _renew(self) -> None:
        while not self.ended.wait(self.lease.seconds / BEATS):
            self.note()


@contextlib.contextmanager
def alone_in(folder: Path, terms: Terms | None = None) -> Iterator[Writer]:
    """Keep all others out of a run: other machines, other processes and other threads.

    The lease of a process that died on this machine is taken over at once, as the system's lock on the file ended with
    it. That of another machine is refused, unless the caller has watched it in vain.
    """
    writer = claim(folder, terms or Terms())
    try:
        yield writer
    finally:
        writer.close()


def claim(folder: Path, terms: Terms) -> Writer:
    """The next lease of a run; raises ``Held`` if the current one keeps us out."""
    if not (folder / "config.json").exists():
        raise Lost(f"{folder} was removed or is no run.")
    try:
        before = current_lease(folder)
        at_rest = before is None or before.state != "held" or is_dead(folder, before)
        if before is not None and not at_rest and not any(before.same_as(lease) for lease in terms.stale):
            raise _held(folder, before)
        writer = _create(folder, _next(folder, before, terms))
        _fence(folder, writer.lease.number, at_rest)
    except OSError as error:
        raise UserError(f"Cannot claim {folder}: {error.strerror}.") from None
    writer.thread.start()
    return writer


def _next(folder: Path, before: Lease | None, terms: Terms) -> Lease:
    """The lease that follows another."""
    progress = progress_of(folder)
    last = before or Lease(0, state="free")
    died = last.state == "held" and last.progress == progress
    return Lease(
        last.number + 1,
        owner=f"{this_process()}-{secrets.token_hex(4)}",
        where=platform.node(),
        process=os.getpid(),
        machine=this_machine(),
        seconds=terms.seconds,
        retries=0 if before is None else last.retries + 1,
        deaths=last.deaths + 1 if died else 0,
        progress=progress,
    )


def progress_of(folder: Path) -> int:
    """Another number whenever the run's state was written."""
    try:
        return (folder / "state.safetensors").stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _create(folder: Path, lease: Lease) -> Writer:
    """Make the file, or raise ``Held`` because somebody was faster.

    Whoever was held up after reading the last lease may create a number that was used and removed meanwhile. There is
    a higher one then: numbers are removed only by who has created a higher one.
    """
    path = lease_path(folder, lease.number)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise _held(folder, current_lease(folder)) from None
    try:
        _lock(descriptor)
        _write(descriptor, lease)
        os.fsync(descriptor)
        if lease_numbers(folder)[-1] != lease.number:
            raise _held(folder, current_lease(folder))
    except BaseException:  # a full disk, too
        os.close(descriptor)
        path.unlink(missing_ok=True)
        raise
    return Writer(folder, descriptor, lease)


def _lock(descriptor: int) -> None:
    """Tell this machine's other processes that we live. It ends with the process, however that ends."""
    with contextlib.suppress(ImportError, OSError):  # without it, they wait as other machines do
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write(descriptor: int, lease: Lease) -> None:
    content = lease.encode()
    assert len(content) == SIZE
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, content)


def _fence(folder: Path, number: int, at_rest: bool) -> None:
    """Make everything that earlier owners could still complete go nowhere. Their leases are removed first."""
    for earlier in lease_numbers(folder):
        if earlier < number:
            lease_path(folder, earlier).unlink(missing_ok=True)
    for partial in [*folder.glob(f".*{PARTIAL}"), *folder.glob(f"checkpoints/.*{PARTIAL}")]:
        partial.unlink(missing_ok=True)
    if at_rest:
        return  # nobody is in the middle of anything
    for path in (folder / name for name in ROW_FILES):
        if path.exists():
            copy = partial_name(path)
            shutil.copyfile(path, copy)
            copy.replace(path)


def _held(folder: Path, lease: Lease | None) -> Held:
    by = _by(lease) if lease is not None else "by another process or thread"
    return Held(
        f"{folder} is being trained {by}. Wait for it or stop it; one that died on another machine is taken over by: "
        "openteam work"
    )


def _by(lease: Lease) -> str:
    return f"by another process or thread ({lease.where or 'unknown'}, process {lease.process})"
