"""A run is a folder that explains itself.

config.json             task, learner and settings, complete
about.json              commit, versions, machine, command
train.jsonl             a row of metrics per stretch of training
episodes.jsonl          a row per evaluation episode
beliefs.jsonl           a row per checkpoint: how well beliefs match the truth, where something is hidden
checkpoints/*.safetensors   policies, each with its configuration in the header
state.safetensors       everything needed to go on; replaced at every checkpoint
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.storage.checkpoint import write_atomic

ROW_FILES = ("train.jsonl", "episodes.jsonl", "beliefs.jsonl")


class RunFolder:
    """Reads and writes a run's files. Rows are appended; everything else is replaced whole."""

    def __init__(self, path: Path | str):
        self.path = Path(path)

    @classmethod
    def create(cls, path: Path | str, config: dict[str, Any]) -> RunFolder:
        """A new run. An existing folder with anything in it is left alone."""
        folder = cls(path)
        if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            hint = f" To go on with it: openteam resume {path}." if (folder.path / "config.json").exists() else ""
            raise UserError(f"{path} already exists and is not empty. Choose another --out.{hint}")
        try:
            (folder.path / "checkpoints").mkdir(parents=True, exist_ok=True)
            folder.write_json("about.json", about())
            folder.write_json("config.json", config)
        except OSError as error:
            raise UserError(f"Cannot write to {path}: {error.strerror}. Choose another --out.") from None
        return folder

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
        try:
            return json.loads((self.path / "config.json").read_text())
        except json.JSONDecodeError as error:
            raise UserError(f"{self.path / 'config.json'} is damaged: {error}.") from None

    @property
    def state(self) -> Path:
        return self.path / "state.safetensors"

    def checkpoint(self, step: int) -> Path:
        return self.path / "checkpoints" / f"{step:012d}.safetensors"

    @property
    def checkpoints(self) -> list[Path]:
        return sorted((self.path / "checkpoints").glob("[0-9]*.safetensors"))

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        write_atomic(self.path / name, (json.dumps(content, indent=1) + "\n").encode())

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows and see them to the disk."""
        with (self.path / name).open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())

    def rows(self, name: str) -> list[dict[str, Any]]:
        path = self.path / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def row_counts(self, step: int) -> dict[str, int]:
        """How many rows there are up to a step."""
        return {name: sum(row["step"] <= step for row in self.rows(name)) for name in ROW_FILES}

    def cut_rows(self, counts: dict[str, int]) -> None:
        """Forget rows that were written after the state that a run goes on from, and a row that was cut short."""
        for name, count in counts.items():
            path = self.path / name
            if path.exists():
                lines = path.read_bytes().splitlines(keepends=True)[:count]
                os.truncate(path, sum(map(len, lines)))


def about() -> dict[str, Any]:
    """Where and with what a run was made."""
    packages = ("openteam", "jax", "jaxlib", "equinox", "optax", "numpy")
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "commit": commit(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
        "machine": {"system": platform.system(), "cpu": cpu_model(), "cores": os.cpu_count()},
    }


def commit() -> str | None:
    """The commit of the source this runs from, with a + if it was changed since; None for an installed package."""
    source = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(source), *words], capture_output=True, text=True, check=True).stdout

    try:
        if Path(git("rev-parse", "--show-toplevel").strip()) != source:
            return None
        return git("rev-parse", "HEAD").strip() + ("+" if git("status", "--porcelain", "-uno", "openteam") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def cpu_model() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
