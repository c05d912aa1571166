"""New run folders: made beside their place under another name and moved there whole, so a failure leaves nothing.

A run that has a configuration but has not written anything yet is nothing that could be lost: a new one may replace it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from openteam.errors import UserError
from openteam.storage.lease import is_lease
from openteam.storage.lock import alone_in
from openteam.storage.rows import ROW_FILES
from openteam.storage.writing import PARTIAL, WriteError

TEAMMATES = "teammates"
PACKED = re.compile(rf"{TEAMMATES}/([0-9]+/)?[^/\\]+\.safetensors\Z")
"""How a run names the files that it holds copies of."""
BEGINNING = ("about.json", "checkpoints", TEAMMATES, *ROW_FILES, "config.json")
"""What a run can consist of before its first row. The configuration, which makes it a run, comes last."""


def is_free(path: Path) -> bool:
    """Whether a new run may be made here: there is nothing, or only what making a run writes, and no row yet."""
    if not os.path.lexists(path):
        return True
    if not path.is_dir():
        return False
    names = {name for name in os.listdir(path) if not is_lease(name)}
    if not names:
        return True
    return (
        "about.json" in names
        and names <= set(BEGINNING)
        and not any((path / name).stat().st_size for name in names & set(ROW_FILES))
        and not ("checkpoints" in names and any((path / "checkpoints").iterdir()))
    )


def check_free(path: Path) -> None:
    """Raise unless a new run may be made here."""
    try:
        free = is_free(path)
    except OSError as error:
        raise UserError(f"Cannot write to {path}: {error.strerror}. Choose another --out.") from None
    if not free:
        is_run = (path / "config.json").exists()
        hint = f" To go on with it: openteam resume {shlex.quote(str(path))}." if is_run else ""
        raise UserError(f"{path} already exists and is not empty. Choose another --out.{hint}")


@contextlib.contextmanager
def staged(out: Path, *, yielding: bool = False) -> Iterator[Path]:
    """A folder to fill. If that goes well it becomes ``out``, or its content moves there; if not, it is removed.

    With ``yielding``, a run that somebody else has made there meanwhile stays, and this one is removed.
    """
    place = Path(os.path.abspath(out))
    stage = place.with_name(f".{place.name}.{secrets.token_hex(4)}{PARTIAL}")
    missing = [parent for parent in place.parents if not os.path.lexists(parent)]
    try:
        stage.mkdir(parents=True)
        yield stage
        if yielding:
            _move_unless_made(stage, place)
        else:
            _move(stage, place)
    except BaseException as error:
        shutil.rmtree(stage, ignore_errors=True)
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        if isinstance(error, (OSError, WriteError)):
            reason = error.reason if isinstance(error, WriteError) else error.strerror
            raise UserError(f"Cannot write to {out}: {reason}. Choose another --out.") from None
        raise


def _move_unless_made(stage: Path, place: Path) -> None:
    """Unless a run is there, in one step if there is nothing, so that of several only one succeeds."""
    try:
        if not (place / "config.json").exists():
            os.rename(stage, place)
    except OSError:  # what a killed start left is in the way, or somebody was faster
        if not (place / "config.json").exists():
            _move(stage, place)
    shutil.rmtree(stage, ignore_errors=True)


def _move(stage: Path, place: Path) -> None:
    """In one step if there is nothing yet. A folder that exists stays: it may be a disk, or where a shell stands."""
    if not os.path.lexists(place):
        os.rename(stage, place)
        return
    names = sorted(os.listdir(stage), key=_order)
    if "config.json" in names:
        _clear(place)
    for name in names:
        if (place / name).is_dir():
            _clear(place / name)
        os.rename(stage / name, place / name)
    stage.rmdir()


def _clear(folder: Path) -> None:
    """Remove a run that has not begun, unless somebody is about to begin it."""
    check_free(folder)
    with alone_in(folder) if (folder / "config.json").exists() else contextlib.nullcontext():
        for name in sorted(os.listdir(folder), key=_order, reverse=True):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _order(name: str) -> int:
    return BEGINNING.index(name) if name in BEGINNING else 0
