"""Where openteam keeps what a user has imported: a folder that belongs to the user, outside any project."""

from __future__ import annotations

import os
from pathlib import Path

from openteam.errors import UserError
from openteam.storage.writing import writing


def data_folder() -> Path:
    """``$XDG_DATA_HOME/openteam``, by default ``~/.local/share/openteam``; it need not exist."""
    try:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:  # a user unknown to the system has no home
        raise UserError("There is no home folder to keep data in. Set XDG_DATA_HOME to a folder of yours.") from None
    return Path(base) / "openteam"


def make_private(folder: Path) -> None:
    """Make a folder that only this user can read, if it is not there."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
