"""A run is a folder that explains itself.

config.json             task, learner, settings and seed, complete
about.json              commit, versions, machine, command
teammates/*.safetensors     copies of the policies of others that the task names
train.jsonl             a row of metrics per stretch of training
episodes.jsonl          a row per evaluation episode
beliefs.jsonl           a row per checkpoint: how well beliefs match the truth, where something is hidden
checkpoints/*.safetensors   policies, each with its configuration in the header
state.safetensors       everything needed to go on; replaced at every checkpoint
lease-N.json            who may write to the folder, or did last
rows.npz                of a finished run that was archived, instead of all rows: the same as columns

Every file is believed only as far as a digest covers it. ``config.json`` holds its own. Headers of checkpoints and of
the state hold their own, that of ``config.json``, and those of all rows written so far.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.storage.about import about
from openteam.storage.checkpoint import read_header
from openteam.storage.columns import COLUMNS, read_columns
from openteam.storage.config import from_json
from openteam.storage.creation import PARTIAL, check_free, staged
from openteam.storage.packing import packed
from openteam.storage.rows import ROW_FILES, RowFile, Tally, check_tally, is_tallies, parse_rows, read_lines
from openteam.storage.seal import fingerprint, parse_json, read_bytes, sealed, unsealed
from openteam.storage.writing import Check, unchecked, write_atomic, writing

Header = dict[str, Any]
ROWS_ONLY = "rows only"
"""The kind of a checkpoint that was archived without its policy."""


class RunFolder:
    """Reads and writes a run's files. Rows are appended; everything else is replaced whole."""

    def __init__(self, path: Path | str):
        self.path = Path(path)

    @classmethod
    def create(cls, path: Path | str, config: dict[str, Any]) -> RunFolder:
        """A new run, there whole or not at all. An existing folder with anything in it is left alone."""
        check_free(Path(path))
        with staged(Path(path)) as stage:
            cls(stage).fill(config)
        return cls(path)

    @classmethod
    def create_once(cls, path: Path, config: dict[str, Any]) -> None:
        """A new run, unless somebody else, who plans the same, has made it meanwhile."""
        with staged(path, yielding=True) as stage:
            cls(stage).fill(config)

    def fill(self, config: dict[str, Any]) -> None:
        """Write all that a run has before it begins, with copies of the files that the configuration names."""
        config, files = packed(config)
        self.path.mkdir(exist_ok=True)
        (self.path / "checkpoints").mkdir()
        for name, source in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, self.path / name)
        self.write_json("about.json", about())
        self.write_json("config.json", sealed(config))

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """An existing run."""
        folder = cls(path)
        if not folder.path.exists():
            raise UserError(f"There is no run at {path}.")
        if not (folder.path / "config.json").is_file():
            raise UserError(f"{path} is not a run: it has no config.json.")
        return folder

    @property
    def config(self) -> dict[str, Any]:
        path = self.path / "config.json"
        return unsealed(read_bytes(path), path)

    def build(self, part: str) -> Any:
        """The task or the learner of the configuration. No file outside the folder is read for it."""
        config = self.config
        if part not in config:
            raise UserError(f"{self.path / 'config.json'} is damaged: it has no {part}.")
        return from_json(config[part], self.path)

    @property
    def about(self) -> dict[str, Any]:
        path = self.path / "about.json"
        content = parse_json(read_bytes(path), path)
        if not isinstance(content, dict):
            raise UserError(f"{path} is damaged: it should hold a JSON object.")
        return content

    @property
    def state(self) -> Path:
        return self.path / "state.safetensors"

    def checkpoint(self, step: int) -> Path:
        return self.path / "checkpoints" / f"{step:012d}.safetensors"

    @property
    def checkpoints(self) -> list[Path]:
        """All of them, first steps first."""
        found = [path for path in (self.path / "checkpoints").glob("*.safetensors") if not path.name.startswith(".")]
        for path in found:
            if not (path.stem.isascii() and path.stem.isdecimal()) or path != self.checkpoint(int(path.stem)):
                raise UserError(f"{path} is no checkpoint of openteam's: its name is not a step. Move it elsewhere.")
        return sorted(found, key=lambda path: int(path.stem))

    @property
    def policies(self) -> list[Path]:
        """The checkpoints that can be played."""
        return [path for path in self.checkpoints if read_header(path).get("kind") != ROWS_ONLY]

    def header(self, path: Path) -> Header:
        """The header of one of its checkpoints or of its state, which must have been written for this run."""
        header = read_header(path)
        run = header.get("run")
        if not (isinstance(run, dict) and is_tallies(run.get("rows"))):
            raise UserError(f"{path} does not say which rows belong to it: no run of openteam wrote it.")
        if run.get("config") != fingerprint(self.config):
            raise UserError(
                f"{path} belongs to another run than {self.path / 'config.json'}: seed, task or settings differ."
            )
        step = header.get("step")
        if path != self.state and (type(step) is not int or path.name != self.checkpoint(step).name):
            raise UserError(f"{path} was written for step {step}. Give it its name back.")
        return header

    def last(self) -> tuple[Path, Header] | None:
        """The last checkpoint and its header; None before the first."""
        expected = self._last_step_of_state()
        found = self.checkpoints
        if found and int(found[-1].stem) >= expected:
            return found[-1], self.header(found[-1])
        if expected >= 0:
            raise UserError(f"{self.checkpoint(expected)} is missing, though later files of the run are there.")
        return None

    def _last_step_of_state(self) -> int:
        """The step of the last checkpoint when the state was written; -1 if there is no state to believe."""
        try:
            step = self.header(self.state).get("checkpoint") if self.state.exists() else -1
        except UserError:  # whoever needs it will say so
            return -1
        return step if isinstance(step, int) else -1

    @property
    def finished(self) -> bool:
        """A checkpoint is written after its rows, and the state, unless it was deleted, after the last checkpoint."""
        last, settings = self.last(), self.config.get("settings")
        if last is None or not isinstance(settings, dict) or last[1]["step"] < settings.get("steps", 0):
            return False
        return not self.state.exists() or self._last_step_of_state() == last[1]["step"]

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        write_atomic(self.path / name, (json.dumps(content, indent=1) + "\n").encode())

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows and see them to the disk."""
        RowFile(self.path / name).append(rows)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """All rows. Those up to the last checkpoint are as they were written; after it a run may be at work."""
        path, last = self.path / name, self.last()
        if self.archived and not path.exists():
            return self._archived_rows(name, last)
        lines = read_lines(path)
        rows = parse_rows(path, lines)
        if last is not None:
            check_tally(path, lines, last[1]["run"]["rows"][name])
        return rows

    @property
    def archived(self) -> bool:
        """Whether its rows are columns now."""
        return (self.path / COLUMNS).exists()

    def _archived_rows(self, name: str, last: tuple[Path, Header] | None) -> list[dict[str, Any]]:
        """The same from columns, which must have been made of the rows that the last checkpoint covers."""
        path = self.path / COLUMNS
        rows, tallies = read_columns(path)
        if last is None or tallies != last[1]["run"]["rows"]:
            raise UserError(f"{path} holds other rows than those that the run's last checkpoint was written after.")
        return rows[name]

    def rows_of_checkpoints(self, name: str) -> list[dict[str, Any]]:
        """The rows up to the last checkpoint, which is written after them."""
        last = self.last()
        return [] if last is None else self.rows(name)[: last[1]["run"]["rows"][name]["rows"]]

    def coverage(self, rows: dict[str, Tally] | None = None) -> dict[str, Any]:
        """What a checkpoint or a state says of its run: configuration and rows; by default, all rows on disk."""
        rows = rows or {name: RowFile(self.path / name, read_lines(self.path / name)).tally for name in ROW_FILES}
        return {"config": fingerprint(self.config), "rows": rows}

    def cut_rows(self, kept: dict[str, list[bytes]], check: Check = unchecked) -> None:
        """Forget all rows after these, and a row that was cut short."""
        for name in ROW_FILES:
            path, size = self.path / name, sum(map(len, kept[name]))
            if path.exists() and path.stat().st_size > size:
                with writing(path), path.open("r+b") as file:
                    check()
                    file.truncate(size)


def is_run(config: Path) -> bool:
    """Whether a config.json makes its folder a run, and not one that was being made when something was killed."""
    return not any(part.startswith(".") and part.endswith(PARTIAL) for part in config.parts)
