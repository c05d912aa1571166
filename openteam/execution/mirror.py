"""A run on a machine without a shared disk: what it needs to go on goes there, and what it writes comes back.

Both sides have a run folder. The far one belongs to the process that trains. After every row and checkpoint it is
compared with what has been sent, and the difference is written to the near one in the order in which a run writes:
rows, policies, state. So the near folder is at any moment one that a killed run could have left.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from openteam.errors import UserError
from openteam.storage.rows import ROW_FILES, append_bytes
from openteam.storage.run_folder import RunFolder
from openteam.storage.writing import Check, write_atomic

Files = dict[str, bytes]
Stamp = tuple[int, int]


class Change(NamedTuple):
    """Rows that follow those before ``offset``, or a whole file."""

    name: str
    offset: int | None
    content: bytes


def files_of(folder: Path) -> Files:
    """All files that a run needs to go on elsewhere: of its policies, the last."""
    run = RunFolder.open(folder)
    last = run.last()
    paths = [folder / name for name in ("config.json", "about.json", *ROW_FILES)]
    paths += [run.state, *folder.glob("teammates/**/*.safetensors"), *([last[0]] if last else [])]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.exists()}


def unpack(files: Files, folder: Path) -> None:
    """Make the far folder."""
    (folder / "checkpoints").mkdir(parents=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


class Mirror:
    """The far side: what was written since it was last asked, while nothing is being written."""

    def __init__(self, folder: Path):
        self.run = RunFolder.open(folder)
        self.sizes = {name: self._size(name) for name in ROW_FILES}
        self.stamps = {path: stamp_of(path) for path in self._replaced()}

    def changes(self) -> list[Change]:
        """In the order in which they may be applied."""
        found = [change for name in ROW_FILES if (change := self._new_rows(name)) is not None]
        for path in self._replaced():
            stamp = stamp_of(path)
            if stamp != self.stamps.get(path):
                self.stamps[path] = stamp
                found.append(Change(str(path.relative_to(self.run.path)), None, path.read_bytes()))
        return found

    def _new_rows(self, name: str) -> Change | None:
        before, size = self.sizes[name], self._size(name)
        if size == before:
            return None
        with (self.run.path / name).open("rb") as file:
            file.seek(before)
            self.sizes[name] = size
            return Change(name, before, file.read(size - before))

    def _size(self, name: str) -> int:
        path = self.run.path / name
        return path.stat().st_size if path.exists() else 0

    def _replaced(self) -> list[Path]:
        """Files that are written whole; the state, which vouches for all others, comes last."""
        return [*self.run.checkpoints, *([self.run.state] if self.run.state.exists() else [])]


def stamp_of(path: Path) -> Stamp:
    """Another one whenever the file was replaced."""
    about = path.stat()
    return about.st_ino, about.st_mtime_ns


def apply(changes: Iterable[Change], folder: Path, check: Check) -> None:
    """The near side: write what the far one has written."""
    for change in changes:
        path = checked_name(folder, change.name)
        if change.offset is None:
            write_atomic(path, change.content, check)
            continue
        size = path.stat().st_size if path.exists() else 0
        if size != change.offset:
            raise UserError(f"{path} has {size} bytes, but rows came for after {change.offset}.")
        append_bytes(path, change.content, check)


def checked_name(folder: Path, name: str) -> Path:
    """Where a change goes; nothing but rows, policies and the state is written because another machine says so."""
    stem = name.removeprefix("checkpoints/").removesuffix(".safetensors")
    if name in (*ROW_FILES, "state.safetensors") or (name == f"checkpoints/{stem}.safetensors" and stem.isdecimal()):
        return folder / name
    raise UserError(f"A worker sent '{name[:80]}' for {folder}, which is no file that a run writes.")
