"""Leases: small files in a run folder that say who may write to it, readable from every machine that shares the disk.

The lease with the highest number is the run's. A new one is created under the next number, which the file system
grants to one process only, on network file systems too. Its owner renews it by counting up ``beat`` in place. Nobody
compares clocks: a lease is stale when somebody has watched it for as long as it lasts, by his own clock, and it did
not change.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import platform
import re
import secrets
import time
from pathlib import Path
from typing import Literal

LEASE_SECONDS = 60.0
"""How long a lease that is not renewed still keeps others out."""
BEATS = 4  # renewals within that time
SIZE = 1024  # bytes of the file, always the same, so that it can be written over in one piece
NAME = re.compile(r"lease-(\d{6})\.json")


@dataclasses.dataclass(frozen=True)
class Lease:
    """What a lease file says."""

    number: int
    """The fencing number: who finds a higher one than his own has lost the run."""
    owner: str = ""
    """Random, so that no two leases are ever taken for one another; begins with what its process calls itself."""
    where: str = ""
    """The machine that the run is on, for people."""
    process: int = 0
    machine: str = ""
    """The same only for processes under one running kernel."""
    seconds: float = LEASE_SECONDS
    beat: int = 0
    state: Literal["held", "free", "failed"] = "held"
    failure: str = ""
    """The sentence that the run ended with, if it failed."""
    retries: int = 0
    """How often the run was taken up again."""
    deaths: int = 0
    """How many owners in a row died before the run got any further."""
    progress: int = 0
    """Changes whenever the run's state was written."""

    def encode(self) -> bytes:
        """Exactly ``SIZE`` bytes."""
        room = SIZE - len(json.dumps(dataclasses.asdict(dataclasses.replace(self, failure=""))))
        failure = self.failure
        while len(json.dumps(failure)) > room:
            failure = failure[: len(failure) * 9 // 10]
        text = json.dumps(dataclasses.asdict(dataclasses.replace(self, failure=failure)))
        return text.encode().ljust(SIZE - 1) + b"\n"

    def same_as(self, other: Lease | None) -> bool:
        """Whether nothing was heard of its owner between the two."""
        return other is not None and (self.number, self.owner, self.beat) == (other.number, other.owner, other.beat)


def lease_path(folder: Path, number: int) -> Path:
    """Where the lease of that number is."""
    return folder / f"lease-{number:06d}.json"


def is_lease(name: str) -> bool:
    """Whether a file of this name is a lease."""
    return NAME.fullmatch(name) is not None


def lease_numbers(folder: Path) -> list[int]:
    """The leases in a folder, last one last; usually there is one, or none if the run was never begun."""
    return sorted(int(match.group(1)) for name in os.listdir(folder) if (match := NAME.fullmatch(name)))


def read_lease(path: Path) -> Lease | None:
    """What a lease says; None if it is gone. One that is just being written is held by somebody unknown."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    number = NAME.fullmatch(path.name)
    assert number is not None
    try:
        return Lease(**json.loads(content))
    except (ValueError, TypeError):
        return Lease(int(number.group(1)))


def current_lease(folder: Path) -> Lease | None:
    """The lease that counts; None if the run was never begun."""
    while numbers := lease_numbers(folder):
        lease = read_lease(lease_path(folder, numbers[-1]))
        if lease is not None:  # else its successor has just removed it
            return lease
    return None


def is_dead(folder: Path, lease: Lease) -> bool:
    """Whether the owner is known to be gone: a process on this machine whose lock on its lease ended with it."""
    if lease.machine != this_machine() or lease.owner.startswith(this_process()):
        return False
    try:
        import fcntl

        descriptor = os.open(lease_path(folder, lease.number), os.O_RDONLY)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: who only asks does not look like an owner
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@functools.cache
def this_machine() -> str:
    """The running kernel, if it has a name; else the machine's."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()


@functools.cache
def this_process() -> str:
    """Like no other process, past or present, which its number would not tell."""
    return secrets.token_hex(8)


class Patience:
    """Watches leases of others, and says which of them were not renewed for as long as they last."""

    def __init__(self) -> None:
        self.seen: dict[Path, tuple[Lease, float]] = {}

    def is_stale(self, folder: Path, lease: Lease) -> bool:
        """Whether this lease looked the same when it was first shown to us, at least its own length ago."""
        now = time.monotonic()
        before = self.seen.get(folder)
        if before is None or not before[0].same_as(lease):
            self.seen[folder] = (lease, now)
            return False
        return now - before[1] > lease.seconds
