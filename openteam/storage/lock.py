"""One writer per run folder, whoever it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from openteam.errors import UserError


class Writer:
    """Who alone may write to a run, as long as the folder is the one that it locked."""

    def __init__(self, folder: Path, descriptor: int):
        self.folder = folder
        self.descriptor = descriptor

    def check(self) -> None:
        """Raise if the folder was removed, even if another run was made in its place since."""
        try:
            there = os.path.samestat(os.stat(self.folder / "config.json"), os.fstat(self.descriptor))
        except OSError:
            there = False
        if not there:
            raise UserError(f"{self.folder} was removed or replaced while it was being trained. The training ends.")


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[Writer]:
    """Keep all others out of a run: other processes and other threads, also after whoever started them is gone.

    The lock is on config.json, which is never replaced, and ends with the process. It is opened for writing, though
    nothing is written: NFS gives no exclusive lock otherwise. Where there are no such locks (Windows, some network
    file systems) nobody is kept out.
    """
    descriptor = _opened(folder / "config.json")
    try:
        writer = Writer(folder, descriptor)
        _lock(folder, descriptor)
        writer.check()
        yield writer
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
    except OSError as error:
        raise UserError(f"Cannot open {path}: {error.strerror}.") from None


def _lock(folder: Path, descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(f"{folder} is being trained by another process or thread. Wait for it or stop it.") from None
    except OSError:
        return
