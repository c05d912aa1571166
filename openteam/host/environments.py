"""Several environments side by side, in this process or in others."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from types import TracebackType
from typing import Any, cast

import numpy as np
from jaxtyping import Int

from openteam.host.calling import HostError
from openteam.host.seen import Outcome, Seen, Sizes, join
from openteam.host.settings import HostSettings
from openteam.host.worker import COMMAND, Group

PATIENCE = 5.0  # seconds for a process to close its environments


class Environments:
    """Always the same results, however many processes share the work."""

    def __init__(self, settings: HostSettings, sizes: Sizes, count: int, processes: int):
        shares = [len(share) for share in np.array_split(np.arange(count), min(processes, count))]
        self.cuts = np.cumsum(shares)[:-1]
        self.groups: list[Group | Process] = []
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for number, share in enumerate(shares):
                whose = f"{settings.env} (process {number + 1} of {len(shares)})"
                here = len(shares) == 1
                self.groups.append(Group(settings, sizes, share) if here else Process(settings, sizes, share, whose))
            undo.pop_all()

    def start(self, seeds: Int[np.ndarray, "envs"]) -> Seen:
        """New episodes in all of them."""
        return join(self._all("start", np.split(seeds, self.cuts)))

    def step(self, actions: Int[np.ndarray, "envs slots"], seeds: Int[np.ndarray, "envs"]) -> Outcome:
        """One step of all. ``seeds`` begin the episodes that follow those that end now."""
        return join(self._all("step", np.split(actions, self.cuts), np.split(seeds, self.cuts)))

    def _all(self, verb: str, *shares: list[np.ndarray]) -> list[Any]:
        """Ask every process before the first answer is waited for."""
        each = list(zip(self.groups, *shares, strict=True))
        if isinstance(self.groups[0], Group):
            return [getattr(group, verb)(*share) for group, *share in each]
        processes = cast(list[tuple[Any, ...]], each)
        for process, *share in processes:
            process.ask(verb, *share)
        return [process.answer() for process, *_ in processes]

    def close(self) -> None:
        """End all processes."""
        for group in self.groups:
            group.close()
        self.groups = []

    def __enter__(self) -> Environments:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Process:
    """A worker, seen from here."""

    def __init__(self, settings: HostSettings, sizes: Sizes, count: int, whose: str):
        self.whose = whose
        self.process: Any = subprocess.Popen(
            [sys.executable, "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C reaches only us
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        try:
            self.ask("open", list(sys.path), settings, sizes, count)
            self.answer()
        except BaseException:
            self.close()
            raise

    def ask(self, verb: str, *arguments: Any) -> None:
        """Tell it what to do."""
        try:
            pickle.dump((verb, arguments), self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
        except OSError:  # it died; its answer says why
            pass

    def answer(self) -> Any:
        """What it did. Raises what went wrong there."""
        try:
            told = pickle.load(self.process.stdout)
        except (EOFError, pickle.UnpicklingError):
            code = self.process.wait()
            raise HostError(
                f"The process of {self.whose} died with exit code {code}"
                f"{', killed from outside or for want of memory' if code == -9 else ''}. What it printed last is above."
            ) from None
        if isinstance(told, tuple) and len(told) == 2 and isinstance(told[0], type):
            kind, sentence = told
            raise kind(sentence)
        return told

    def close(self) -> None:
        """Let it end by itself, or end it."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def processes_for(wanted: int | None, envs: int) -> int:
    """As many processes as wanted; by default one per core, and none besides ours where there is one core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(wanted or cores, envs))
