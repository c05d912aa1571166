"""Places for processes on this machine: a core each, or GPUs and a share of the cores."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

from openteam.errors import UserError


class Slot(NamedTuple):
    """What one process may use."""

    cores: tuple[int, ...] = ()
    """None means all: nobody knows which are free."""
    gpus: tuple[str, ...] = ()

    def enter(self) -> None:
        """Keep this process to its place."""
        if self.gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(self.gpus)
        if self.cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, self.cores)


def cores() -> list[int]:
    """Those that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def gpus() -> list[str]:
    """Those that this process may use: what CUDA_VISIBLE_DEVICES names, or all that the driver lists."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    return [str(number) for number in range(sum(line.startswith("GPU") for line in listed.splitlines()))]


def slots(processes: int | None = None, gpus_each: int = 0, pinned: bool = True) -> list[Slot]:
    """A place for each of so many processes, by default as many as there is room for."""
    if gpus_each == 0:
        return [Slot((core,) if pinned else ()) for core in cores()[:processes]]
    devices = gpus()
    room = len(devices) // gpus_each
    count = room if processes is None else processes
    if not 1 <= count <= room:
        wanted = f"{max(count, 1)} at a time with {gpus_each} each"
        raise UserError(f"{len(devices)} GPUs are visible here, too few for runs that are {wanted}.")
    ours = cores()
    shares = [tuple(ours[number::count]) or (ours[number % len(ours)],) for number in range(count)]
    parts = [tuple(devices[number * gpus_each :][:gpus_each]) for number in range(count)]
    return [Slot(share if pinned else (), part) for share, part in zip(shares, parts, strict=True)]
