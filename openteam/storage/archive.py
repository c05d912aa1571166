"""Finished runs in little room: rows as columns, the last policy, and nothing that only going on would need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.storage.checkpoint import save_tree
from openteam.storage.columns import COLUMNS, read_columns, write_columns
from openteam.storage.lock import alone_in
from openteam.storage.rows import ROW_FILES
from openteam.storage.run_folder import ROWS_ONLY, Header, RunFolder
from openteam.storage.writing import write_atomic


def archive(path: Path, every_checkpoint: bool = False, rows_only: bool = False) -> None:
    """Make columns of a finished run's rows; drop its state and, unless told otherwise, all checkpoints but the last.

    Rows are deleted after their columns were read back and found equal, so a kill at any moment loses nothing, and
    doing it again finishes it. The lease goes, too: nobody trains a run that is finished. With ``rows_only`` so does
    the last policy; what its file says of the run stays.
    """
    folder = RunFolder.open(path)
    with alone_in(folder.path) as writer:
        last = folder.last()
        if last is None or not folder.finished:
            raise UserError(f"{path} is not finished: only a run that came to its end can be archived.")
        if not folder.archived:
            write_checked(folder, {name: folder.rows(name) for name in ROW_FILES}, last[1]["run"]["rows"])
        folder.rows(ROW_FILES[0])
        kept = set(folder.checkpoints) if every_checkpoint else {last[0]}
        rows = [folder.path / name for name in ROW_FILES]
        for file in {*rows, folder.state, *folder.checkpoints, writer.path} - kept:
            file.unlink(missing_ok=True)
        if rows_only:
            drop_policy(*last)


def drop_policy(checkpoint: Path, header: Header) -> None:
    """Write a checkpoint again without its numbers."""
    kept = {name: header[name] for name in ("task", "step", "run") if name in header}
    save_tree(checkpoint, (), kept | {"kind": ROWS_ONLY})


def write_checked(folder: RunFolder, rows: dict[str, list[dict[str, Any]]], tallies: dict[str, Any]) -> None:
    """Write columns from which exactly these rows can be read, or nothing."""
    target = folder.path / COLUMNS
    if any(len(rows[name]) != tallies[name]["rows"] for name in ROW_FILES):
        raise UserError(f"{folder.path} has rows after its last checkpoint and is not archived.")
    write_atomic(target, write_columns(rows, tallies))
    if json.dumps(read_columns(target)[0]) != json.dumps(rows):
        target.unlink()
        raise UserError(f"The rows of {folder.path} do not come back from columns as they were. They stay as they are.")


def size_of(path: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
