"""How far runs are, from their files alone: quick enough to ask for a thousand of them, and from any machine.

Nothing is checked here. Whoever computes with a run reads it through ``RunFolder``, which does.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from openteam.storage.lease import Lease, current_lease, is_dead, lease_path
from openteam.storage.rows import TIMED

State = Literal["finished", "running", "silent", "interrupted", "failed", "waiting", "unreadable"]
ORDER: tuple[State, ...] = ("running", "silent", "failed", "unreadable", "interrupted", "waiting", "finished")
TAIL = 4096  # bytes; the last few rows of training


@dataclasses.dataclass(frozen=True)
class RunStatus:
    """One line of the table."""

    folder: Path
    state: State
    """silent: its lease is not renewed, and will be taken over; interrupted: begun, and nobody is at it."""
    step: int = 0
    steps: int = 0
    speed: float | None = None
    """Steps per second, between its last two rows."""
    train_return: float | None = None
    """Of the training episodes in its last row that has one."""
    where: str = ""
    retries: int = 0
    failure: str = ""


def status_of(folder: Path) -> RunStatus:
    """A run's state now. A run that is planned but not made yet is waiting."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
        steps = int(config["settings"]["steps"])
    except FileNotFoundError:
        return RunStatus(folder, "waiting")
    except (OSError, ValueError, LookupError, TypeError):
        return RunStatus(folder, "unreadable")
    lease = current_lease(folder)
    checkpoint = last_checkpoint(folder)
    rows = last_rows(folder / TIMED)
    step = max([checkpoint or 0, *(row["step"] for row in rows[-1:])])
    state = state_of(folder, lease, finished=is_finished(folder, checkpoint, steps), begun=checkpoint is not None)
    at_it = state in ("running", "silent")
    return RunStatus(
        folder, state, min(step, steps) if state == "finished" else step, steps, speed_of_last(rows),
        next((row["return"] for row in reversed(rows) if row.get("return") is not None), None),
        place_of(lease) if lease is not None and at_it else "",
        lease.retries if lease is not None else 0,
        lease.failure if lease is not None and state == "failed" else "",
    )  # fmt: skip


def place_of(lease: Lease) -> str:
    """``node7:1234``."""
    return f"{lease.where}:{lease.process}" if lease.process else lease.where


def state_of(folder: Path, lease: Lease | None, *, finished: bool, begun: bool) -> State:
    """In one word. How old a lease is on another machine is judged by that machine's clock, which is for show only."""
    if lease is not None and lease.state == "held" and not is_dead(folder, lease):
        try:
            age = time.time() - lease_path(folder, lease.number).stat().st_mtime
        except OSError:
            age = 0.0
        return "silent" if age > 2 * lease.seconds else "running"
    if finished:
        return "finished"
    if lease is not None and lease.state == "failed":
        return "failed"
    return "interrupted" if begun else "waiting"


def last_checkpoint(folder: Path) -> int | None:
    """The step of the last one, or None."""
    try:
        names = os.listdir(folder / "checkpoints")
    except OSError:
        return None
    steps = [int(stem) for name in names if (stem := name.removesuffix(".safetensors")).isdecimal()]
    return max(steps, default=None)


def is_finished(folder: Path, checkpoint: int | None, steps: int) -> bool:
    """Whether the last checkpoint is the run's end and the state, if there still is one, was written after it."""
    if checkpoint is None or checkpoint < steps:
        return False
    state = folder / "state.safetensors"
    return not state.exists() or header_of(state).get("checkpoint") == checkpoint


def header_of(path: Path) -> dict[str, Any]:
    """What ``save_tree`` wrote beside the arrays; nothing if that cannot be read."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            return json.loads(json.loads(file.read(min(size, 2**24)))["__metadata__"]["openteam"])
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def last_rows(path: Path) -> list[dict[str, Any]]:
    """The complete rows at the end of a file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    rows = [parsed(line) for line in lines[:-1]]  # the first line is likely cut, and is no JSON then
    return [row for row in rows if row is not None]


def parsed(line: bytes) -> dict[str, Any] | None:
    """A row, if it is one."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("step"), int) else None


def speed_of_last(rows: list[dict[str, Any]]) -> float | None:
    """Between the last two rows; None before there are two."""
    if len(rows) < 2 or not rows[-1].get("seconds"):
        return None
    steps = rows[-1]["step"] - rows[-2]["step"]
    return steps / rows[-1]["seconds"] if steps > 0 else None


def folders_below(path: Path) -> list[Path]:
    """All run folders at or below a path, without a look into what is in them."""
    found: list[Path] = []
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        if any(entry.name == "config.json" for entry in entries):
            found.append(folder)
        else:
            inner = [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
            waiting += [folder / entry.name for entry in inner]
    return sorted(found)


class Watched:
    """The status of many runs, again and again: those that are finished are not read again."""

    def __init__(self, folders: Iterable[Path]):
        self.known: dict[Path, RunStatus] = {folder: RunStatus(folder, "waiting") for folder in folders}
        self.stamps: dict[Path, tuple[int, ...]] = {}

    def look(self) -> list[RunStatus]:
        """All of them, read anew only where something changed."""
        for folder, before in self.known.items():
            if before.state == "finished":
                continue
            stamp = stamps_of(folder)
            if stamp != self.stamps.get(folder) or before.state in ("running", "silent"):
                self.known[folder] = status_of(folder)
                self.stamps[folder] = stamp
        return list(self.known.values())


def stamps_of(folder: Path) -> tuple[int, ...]:
    """Changes when a run's folder or rows do: leases and states come and go in it by name."""
    found = []
    for path in (folder, folder / TIMED):
        try:
            found.append(os.stat(path).st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)
