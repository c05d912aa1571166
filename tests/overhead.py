"""What claiming, renewing, checking, looking for runs and showing tables cost in a plan of 200 runs. Not a test.

python tests/overhead.py [RUNS] [SECONDS]

Runs are real folders with real leases, rows and states, but instead of training they sleep, SECONDS each, 20 at a
time; a row every half second is far more than runs write. The costs are CPU seconds of the process that hands runs out
and shows the table, and what runs spend on their leases: CPU seconds, and seconds with all waiting, for the disk and,
on a machine that is busy otherwise, for a core.
"""

from __future__ import annotations

import functools
import io
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

from openteam.storage import lock
from openteam.storage.rows import RowFile
from openteam.storage.writing import write_atomic

AT_A_TIME, ROW_EVERY = 20, 0.5


def train(folder: Path, terms: lock.Terms, connection, seconds: float) -> None:
    """A run that learns nothing. The last message is how long it was busy with its lease."""
    spent = [0.0, 0.0]
    for name in ("check", "close"):
        setattr(lock.Writer, name, timed(getattr(lock.Writer, name), spent))
    lock.claim = timed(lock.claim, spent)
    with lock.alone_in(folder, terms) as writer:
        rows = RowFile(folder / "train.jsonl", (), writer.check)
        count = int(seconds / ROW_EVERY)
        for number in range(1, count + 1):
            time.sleep(ROW_EVERY)
            rows.append([{"step": 100 * number // count, "seconds": ROW_EVERY, "return": 1.0}])
            if number % 10 == 0:
                write_atomic(folder / "state.safetensors", b"x" * 100_000, writer.check)
        (folder / "finished").touch()
    (folder / "spent").write_text(json.dumps(spent))
    connection.send(None)


def timed(function, spent: list[float]):
    @functools.wraps(function)
    def call(*args, **kwargs):
        cpu, began = time.thread_time(), time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[0] += time.thread_time() - cpu
            spent[1] += time.perf_counter() - began

    return call


def main(runs: str = "200", seconds: str = "20") -> None:
    from rich.console import Console

    from openteam.commands.status_table import StatusTable
    from openteam.execution import processes, worker
    from openteam.execution.slots import Slot

    class Sleeper(worker.RunOnDisk):
        @property
        def finished(self) -> bool:
            return (self.folder / "finished").exists()

        def begin(self) -> None:
            (self.folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            (self.folder / "config.json").write_text('{"settings": {"steps": 100}}')

    def start(folder, slot, imports, terms):
        context = multiprocessing.get_context("forkserver")
        ours, theirs = context.Pipe()
        process = context.Process(target=train, args=(folder, terms, theirs, float(seconds)), daemon=True)
        process.start()
        theirs.close()
        return ours, process

    processes._start, processes.slots = start, lambda *_: [Slot()] * AT_A_TIME
    with tempfile.TemporaryDirectory() as home:
        planned = [Sleeper(Path(home) / str(number)) for number in range(int(runs))]
        terminal = Console(file=io.StringIO(), force_terminal=True, width=120, height=40)
        began, before = time.perf_counter(), time.process_time()
        with StatusTable([run.folder for run in planned], terminal):
            assert worker.work(planned, wait=False) == {}
        wall, driver = time.perf_counter() - began, time.process_time() - before
        leases = [json.loads((run.folder / "spent").read_text()) for run in planned]
    total = int(runs) * float(seconds)
    cpu, waited = (sum(column) for column in zip(*leases, strict=True))
    print(f"{runs} runs of {seconds} s, {AT_A_TIME} at a time, in {wall:.0f} s.")
    print(f"Handing out and tables: {driver:.2f} s of CPU, {driver / wall:.2%} of a core, {driver / total:.3%} of all.")
    print(
        f"Leases: {cpu:.2f} s of CPU, {cpu / total:.3%} of all runs; with waiting {waited:.2f} s, {waited / total:.3%}."
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
