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
from collections.abc import Callable, Iterable
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
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(match.group(1)) for name in names if (match := NAME.fullmatch(name)))


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
    """The lease that counts; None if the run was never begun, or does not exist."""
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


Verdict = Literal["unknown", "alive", "stale"]


class Patience:
    """Watches leases of others, by its own clock."""

    def __init__(self) -> None:
        self.seen: dict[Path, tuple[Lease, float]] = {}
        self.renewed: set[str] = set()

    def judge(self, folder: Path, lease: Lease) -> Verdict:
        """What is known of a lease that is held: stale if it did not change for as long as it lasts."""
        if lease.machine == this_machine() and is_dead(folder, lease):
            return "stale"
        now = time.monotonic()
        first, since = self.seen.setdefault(folder, (lease, now))
        if not first.same_as(lease):
            self.seen[folder] = (lease, now)
            if first.owner == lease.owner:
                self.renewed.add(lease.owner)
        elif now - since > lease.seconds:
            return "stale"
        return "alive" if lease.owner in self.renewed or lease.machine == this_machine() else "unknown"


def watched_in_vain(folders: Iterable[Path], say: Callable[[str], None]) -> tuple[Lease, ...]:
    """Leases of other machines that are not renewed any more, say after a power cut; it takes as long as they last."""
    patience, stale = Patience(), []
    waiting = {folder: lease for folder in folders if (lease := held_elsewhere(folder)) is not None}
    for folder, lease in waiting.items():
        who = f"{lease.where}, process {lease.process}"
        say(f"{folder} was last trained by {who}, which did not say that it ended. Watching for {lease.seconds:g} s.")
    while waiting:
        verdicts = {folder: patience.judge(folder, lease) for folder, lease in waiting.items()}
        stale += [lease for folder, lease in waiting.items() if verdicts[folder] == "stale"]
        undecided = [folder for folder in waiting if verdicts[folder] == "unknown"]
        waiting = {folder: lease for folder in undecided if (lease := held_elsewhere(folder)) is not None}
        if waiting:
            time.sleep(0.2)
    return tuple(stale)


def held_elsewhere(folder: Path) -> Lease | None:
    """The lease of a run, if a process on another machine, or before this one was started again, holds it."""
    lease = current_lease(folder)
    held = lease is not None and lease.state == "held" and lease.machine != this_machine()
    return lease if held else None
