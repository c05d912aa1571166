"""Many runs at once: a pinned, single-threaded process per core, or one per GPU."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple, NoReturn

import jax

from openteam.errors import UserError
from openteam.execution.slots import Slot, cores, slots
from openteam.garbage import collect_garbage_rarely
from openteam.storage.imports import import_modules
from openteam.storage.lease import Lease
from openteam.storage.lock import Terms
from openteam.training.driver import Progress, Report, run_folders

__all__ = ["Died", "advance_runs", "cores", "on_accelerator", "stop_workers", "work_through"]


class Died(UserError):
    """A process ended without a word."""


class Worker(NamedTuple):
    """A process, where it runs and what it is at."""

    process: SpawnProcess
    slot: Slot
    folder: Path


Ended = Callable[[Path, UserError | None], None]
"""Is told how a run's process ended: well, or why not."""


def advance_runs(
    folders: Sequence[Path], report: Report, imports: Sequence[str] = (), stale: tuple[Lease, ...] = ()
) -> None:
    """Bring runs that exist on disk to their end, as many at a time as there are cores. One that fails ends all."""

    def ended(folder: Path, error: UserError | None) -> None:
        if error is not None:
            raise error

    work_through(
        folders, lambda folder, progress: report(progress), ended, imports=imports,
        terms=lambda folder: Terms(stale=stale),
    )  # fmt: skip


def work_through(
    folders: Iterable[Path | None],
    report: Callable[[Path, Progress], None],
    ended: Ended,
    *,
    processes: int | None = None,
    gpus: int = 0,
    pinned: bool = True,
    imports: Sequence[str] = (),
    terms: Callable[[Path], Terms] = lambda folder: Terms(),
    pause: float = 1.0,
) -> None:
    """Bring runs to their end, one process a core. ``folders`` is asked for the next run only when a core is free.

    Processes are not pinned to their cores if others that do the same may be on this machine. ``folders`` may
    answer None: nothing now, ask again after a pause. Every process imports the modules ``imports``, in which it finds
    classes that are not ours.
    """
    waiting = iter(folders)
    running: dict[Connection, Worker] = {}
    free = slots(processes, gpus, pinned)
    try:
        while True:
            folder = None
            while free and (folder := next(waiting, END)) not in (None, END):
                assert isinstance(folder, Path)
                slot = free.pop(0)
                connection, process = _start(folder, slot, imports, terms(folder))
                running[connection] = Worker(process, slot, folder)
            if not running and folder is END:
                return
            for connection in _ready(running, pause if free and folder is None else None):
                if not _relay(connection, running[connection], report, ended):
                    free.append(running.pop(connection).slot)
    except BaseException:
        stop_workers([worker.process for worker in running.values()])
        raise


END = object()


def _ready(running: dict[Connection, Worker], seconds: float | None) -> list[Connection]:
    """Those that have said something, in the order in which they were started; after some time, perhaps none."""
    if not running:
        time.sleep(seconds or 0)
        return []
    said = set(wait(list(running), seconds))
    return [connection for connection in running if connection in said]


def _start(folder: Path, slot: Slot, imports: Sequence[str], terms: Terms) -> tuple[Connection, SpawnProcess]:
    """A worker in its place, deaf to Ctrl-C: who started it will tell it to stop, once."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(folder, slot, imports, terms, theirs), daemon=True)
    with _deaf_to_interrupts():
        process.start()
    theirs.close()
    return ours, process


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started meanwhile never see Ctrl-C; ours is only put off."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would unblock the signal when it is first needed
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _relay(connection: Connection, worker: Worker, report: Callable[[Path, Progress], None], ended: Ended) -> bool:
    """Pass one message on. False when the worker has come to its end, good or bad."""
    process, _, folder = worker
    try:
        message = connection.recv()
    except EOFError:
        process.join()
        again = f"openteam resume {shlex.quote(str(folder))}"
        message = Died(f"The process of {folder} died with exit code {process.exitcode}. To go on: {again}")
    if isinstance(message, Progress):
        report(folder, message)
        return True
    process.join()
    ended(folder, message)
    return False


def stop_workers(processes: Sequence[BaseProcess]) -> None:
    """Have workers write their state, and wait until they did."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _work(folder: Path, slot: Slot, imports: Sequence[str], terms: Terms, connection: Connection) -> None:
    """A worker: put in its place before the backend starts, so that it gets one thread, and its GPU."""
    slot.enter()
    collect_garbage_rarely()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    send: Callable[[object], None] = connection.send
    with contextlib.suppress(KeyboardInterrupt):
        for number in STOPPING:
            signal.signal(number, _interrupted)
        try:
            import_modules(imports)
            run_folders([folder], send, terms)
            send(None)
        except UserError as error:
            send(error)
        for number in STOPPING:
            signal.signal(number, signal.SIG_DFL)


def _die_with_parent() -> None:
    """Whoever is killed cannot tell workers to stop, and one that goes on alone would keep its run claimed.

    It is killed, too: a thread cannot interrupt a compiler, and a run can be killed at any moment.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)]
"""What systems send to processes that are to come to an end; batch systems also to every process of a job."""


def _interrupted(number: int, frame: object) -> NoReturn:
    """Asked to stop: as if Ctrl-C had been pressed, upon which a run writes its state. Nobody can interrupt that."""
    for one in STOPPING:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def on_accelerator() -> bool:
    """Whether JAX computes on something other than the CPU."""
    return jax.default_backend() != "cpu"
