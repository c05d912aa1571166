"""Rows: JSON lines that are appended, counted and hashed as they are written, and checked when they are read.

A checkpoint and a state hold, for every file of rows, how many belong to them and the SHA-256 of these. Time is no part
of a run's result, and equal runs have equal digests: of ``train.jsonl`` everything but seconds is hashed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.storage.seal import read_bytes
from openteam.storage.writing import Check, unchecked, writing

TIMED = "train.jsonl"
SECONDS = ("seconds", "environment_seconds")
ROW_FILES = (TIMED, "episodes.jsonl", "beliefs.jsonl")

Tally = dict[str, Any]
"""``{"rows": 12, "sha256": "..."}``: the first rows of a file."""


class RowFile:
    """A file that rows are appended to, with the number and the running digest of those that it has."""

    def __init__(self, path: Path, lines: Sequence[bytes] = (), check: Check = unchecked):
        self.path = path
        self.check = check
        self.count = len(lines)
        self.hash = hashlib.sha256(hashed(path, lines))

    @property
    def tally(self) -> Tally:
        return {"rows": self.count, "sha256": self.hash.hexdigest()}

    def append(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows and see them to the disk."""
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
        append_bytes(self.path, b"".join(lines), self.check)
        self.count += len(lines)
        self.hash.update(hashed(self.path, lines))


def append_bytes(path: Path, content: bytes, check: Check) -> None:
    """Add to a file and see it to the disk.

    What counts is the second check: the file is open then, and stays that one. The first keeps it from being made.
    """
    check()
    with writing(path), path.open("ab") as file:
        check()
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def hashed(path: Path, lines: Sequence[bytes]) -> bytes:
    """What a digest of these lines is taken of."""
    if path.name != TIMED:
        return b"".join(lines)
    rows = [{name: value for name, value in row.items() if name not in SECONDS} for row in parse_rows(path, lines)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def read_lines(path: Path) -> list[bytes]:
    """All lines but a last one that was cut short, as a crash or a full disk leaves it."""
    lines = read_bytes(path).split(b"\n") if path.exists() else [b""]
    return [line + b"\n" for line in lines[:-1]]


def parse_rows(path: Path, lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """The rows in these lines; raises at the first that is none."""
    return [_parse_row(path, line, number) for number, line in enumerate(lines, 1)]


def _parse_row(path: Path, line: bytes, number: int) -> dict[str, Any]:
    """One row: an object that says its step."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not (isinstance(row, dict) and type(row.get("step")) is int):
        raise UserError(f"{path} is damaged: line {number} is no row.")
    return row


def check_tally(path: Path, lines: Sequence[bytes], tally: Tally) -> list[bytes]:
    """The lines that a tally is of; raises if they are missing or others than those that were counted."""
    count, recorded = tally["rows"], tally["sha256"]
    if len(lines) < count:
        raise UserError(f"{path} is damaged: {count:,} rows were written, {len(lines):,} are there.")
    ours = list(lines[:count])
    if hashlib.sha256(hashed(path, ours)).hexdigest() != recorded:
        raise UserError(f"{path} is damaged or was edited: its first {count:,} rows do not match their digest.")
    return ours


def is_tallies(value: Any) -> bool:
    """Whether these are tallies of all files of rows, and of nothing else."""
    return (
        isinstance(value, dict)
        and value.keys() == set(ROW_FILES)
        and all(
            isinstance(tally, dict) and type(tally.get("rows")) is int and tally["rows"] >= 0 and "sha256" in tally
            for tally in value.values()
        )
    )
