"""Many runs at once: a pinned, single-threaded process per core on a CPU; seeds as one batch on an accelerator."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NoReturn

import jax

from openteam.errors import UserError
from openteam.storage.imports import import_modules
from openteam.training.driver import Progress, Report, run_folders

Worker = tuple[SpawnProcess, int, Path]


def advance_runs(folders: Sequence[Path], report: Report, imports: Sequence[str] = ()) -> None:
    """Bring runs that exist on disk to their end, as many at a time as there are cores. One that fails ends all."""

    def fail(folder: Path, message: str) -> NoReturn:
        raise UserError(message)

    work_through(folders, lambda folder, progress: report(progress), fail, imports=imports)


def work_through(
    folders: Iterable[Path],
    report: Callable[[Path, Progress], None],
    failed: Callable[[Path, str], None],
    *,
    processes: int | None = None,
    imports: Sequence[str] = (),
) -> None:
    """Bring runs to their end, one process a core. ``folders`` is asked for the next run only when a core is free.

    Every process imports the modules ``imports``, in which it finds classes that are not ours.
    """
    waiting = iter(folders)
    running: dict[Connection, Worker] = {}
    free = cores()[:processes]
    try:
        while True:
            while free and (folder := next(waiting, None)) is not None:
                core = free.pop(0)
                connection, process = _start(folder, core, imports)
                running[connection] = (process, core, folder)
            if not running:
                return
            ready = set(wait(list(running)))
            for connection in [one for one in running if one in ready]:
                if not _relay(connection, running[connection], report, failed):
                    process, core, _ = running.pop(connection)
                    process.join()
                    free.append(core)
    except BaseException:
        _stop([process for process, _, _ in running.values()])
        raise


def cores() -> list[int]:
    """Those that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _start(folder: Path, core: int, imports: Sequence[str]) -> tuple[Connection, SpawnProcess]:
    """A worker on its core, deaf to Ctrl-C: who started it will tell it to stop, once."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(folder, core, imports, theirs), daemon=True)
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


def _relay(
    connection: Connection,
    worker: Worker,
    report: Callable[[Path, Progress], None],
    failed: Callable[[Path, str], None],
) -> bool:
    """Pass one message on. False when the worker has come to its end, good or bad."""
    process, _, folder = worker
    try:
        message = connection.recv()
    except EOFError:
        process.join()
        died = f"The process of {folder} died with exit code {process.exitcode}."
        failed(folder, f"{died} To go on: openteam resume {shlex.quote(str(folder))}")
        return False
    if isinstance(message, Progress):
        report(folder, message)
        return True
    if message is not None:
        failed(folder, message)
    return False


def _stop(processes: Sequence[SpawnProcess]) -> None:
    """Have workers write their state, and wait until they did."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _work(folder: Path, core: int, imports: Sequence[str], connection: Connection) -> None:
    """A worker: pinned before the backend starts, so that it gets one thread."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    threading.Thread(target=_die_with_parent, daemon=True).start()
    send: Callable[[object], None] = connection.send
    with contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, _interrupted)
        try:
            import_modules(imports)
            run_folders([folder], send)
            send(None)
        except UserError as error:
            send(str(error))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _die_with_parent() -> None:
    """Whoever is killed cannot tell workers to stop, and one that goes on alone would keep its run locked.

    It is killed, too: a thread cannot interrupt a compiler, and a run can be killed at any moment.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _interrupted(number: int, frame: object) -> NoReturn:
    """Asked to stop: as if Ctrl-C had been pressed, upon which a run writes its state."""
    raise KeyboardInterrupt


def on_accelerator() -> bool:
    """Whether JAX computes on something other than the CPU."""
    return jax.default_backend() != "cpu"
