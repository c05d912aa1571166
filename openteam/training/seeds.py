"""Several seeds at once: a pinned, single-threaded process per core on a CPU, one batch on an accelerator."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path

import jax

from openteam.errors import UserError
from openteam.training.driver import Progress, Report, resume_training


def advance_runs(folders: Sequence[Path], report: Report) -> None:
    """Bring runs that exist on disk to their end, as many at a time as there are cores."""
    waiting = list(folders)
    running: dict[Connection, tuple] = {}
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    context = multiprocessing.get_context("spawn")
    try:
        while waiting or running:
            while waiting and free:
                core, folder = free.pop(0), waiting.pop(0)
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(folder, core, theirs), daemon=True)
                process.start()
                theirs.close()
                running[ours] = (process, core, folder)
            ready = set(wait(list(running)))
            for connection in [one for one in running if one in ready]:
                if not _relay(connection, running[connection], report):
                    process, core, _ = running.pop(connection)
                    process.join()
                    free.append(core)
    except BaseException:
        _interrupt([process for process, _, _ in running.values()])
        raise


def _relay(connection: Connection, worker: tuple, report: Report) -> bool:
    """Pass one message on. False when the worker has finished; an error if it failed."""
    process, _, folder = worker
    try:
        message = connection.recv()
    except EOFError:
        process.join()
        raise UserError(
            f"The process of {folder} died with exit code {process.exitcode}. To go on: openteam resume {folder}"
        ) from None
    if isinstance(message, Progress):
        report(message)
        return True
    if message is not None:
        raise UserError(message)
    return False


def _interrupt(processes: list) -> None:
    """Ask workers to write their state, and wait until they did."""
    for process in processes:
        if process.is_alive() and process.pid:
            os.kill(process.pid, signal.SIGINT)
    for process in processes:
        process.join()


def _work(folder: Path, core: int, connection: Connection) -> None:
    """A worker: pinned before the backend starts, so that it gets one thread."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    send: Callable[[object], None] = connection.send
    try:
        resume_training(folder).run(send)
        send(None)
    except UserError as error:
        send(str(error))
    except KeyboardInterrupt:
        pass


def on_accelerator() -> bool:
    """Whether JAX computes on something other than the CPU."""
    return jax.default_backend() != "cpu"
