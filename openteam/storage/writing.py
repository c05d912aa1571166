"""Files written whole or not at all, and a sentence when they cannot be."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from openteam.errors import UserError


class WriteError(UserError):
    """A full disk, a quota, a file-size limit, a folder that is gone. Nothing that was there before is lost."""

    def __init__(self, path: Path, error: OSError):
        self.reason = error.strerror or str(error)
        super().__init__(f"Cannot write {path}: {self.reason}.")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """The system's refusals as a sentence about the file that was being written."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from None


def write_atomic(path: Path, content: bytes) -> None:
    """Replace a file in one step, so that a reader or a crash never sees half of it."""
    partial = path.with_name(f".{path.name}.partial")
    with writing(path):
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise
