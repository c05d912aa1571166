"""Files written whole or not at all, and a sentence when they cannot be."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from openteam.errors import UserError

PARTIAL = ".partial"
Check = Callable[[], None]
"""Raises if whoever is about to write may not any more. It is asked when all is prepared, right before the write."""


def unchecked() -> None:
    """Of what nobody else writes to."""


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


def partial_name(path: Path) -> Path:
    """What a file is called until it is complete: like no other, as somebody else may be writing the same one."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")


def write_atomic(path: Path, content: bytes, check: Check = unchecked) -> None:
    """Replace a file in one step, so that a reader or a crash never sees half of it."""
    partial = partial_name(path)
    with writing(path):
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            check()
            partial.replace(path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                partial.unlink()
            if isinstance(error, FileNotFoundError):
                check()  # whoever took the folder over deletes what others have prepared
            raise
