"""Runs on a Slurm cluster with a shared disk: an array of workers, submitted by submitit.

Shortly before its time limit a worker has the states of its runs written and is queued again, by itself: whoever has
submitted it need not be there any more.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openteam.errors import UserError
from openteam.execution.extras import needed

if TYPE_CHECKING:
    from openteam.execution.worker import Run

REQUEUES = 10_000  # as often as it takes; submitit would give up after three
PAUSE = 2.0  # seconds between two looks at the jobs


class Job:
    """A worker of the array: one run at a time, until there is none that nobody is at."""

    def __init__(self, runs: Sequence[Run], imports: tuple[str, ...], gpus: int, seconds: float):
        self.runs, self.imports, self.gpus, self.seconds = list(runs), imports, gpus, seconds
        self.place = os.getcwd()
        self.progress: dict[Path, int] = {}
        self.in_vain = 0

    def __call__(self) -> dict[Path, str]:
        """What failed, and why. What others are at is theirs."""
        from openteam.threads import use_one_thread

        use_one_thread()
        os.chdir(self.place)
        from openteam.execution.processes import work_through
        from openteam.execution.worker import Queue
        from openteam.storage.imports import import_modules

        import_modules(self.imports)
        queue = Queue(self.runs, self.seconds, wait=False)
        work_through(
            queue, lambda folder, progress: None, queue.ended, processes=1, gpus=self.gpus, pinned=False,
            imports=self.imports, terms=queue.terms,
        )  # fmt: skip
        return queue.failures

    def checkpoint(self) -> Any:
        """What submitit calls before the time limit, and queues again, unless the limit is too short to get on."""
        from openteam.execution.processes import stop_workers
        from openteam.execution.worker import ATTEMPTS
        from openteam.storage.lock import progress_of

        stop_workers(multiprocessing.active_children())
        now = {run.folder: progress_of(run.folder) for run in self.runs}
        self.in_vain = self.in_vain + 1 if now == self.progress else 0
        self.progress = now
        if self.in_vain >= ATTEMPTS:
            return None
        return needed("submitit.helpers", "slurm").DelayedSubmission(self)


def bring_to_end(
    runs: Sequence[Run],
    logs: Path,
    *,
    address: str | None = None,
    workers: int,
    gpus: int = 0,
    imports: Sequence[str] = (),
    seconds: float,
    time_limit: float,
    parameters: dict[str, str | int],
) -> dict[Path, str]:
    """Submit workers, and watch until all runs are finished; submit again if workers ended before that."""
    from openteam.storage.lock import progress_of

    executor = make_executor(logs, address, workers, gpus, time_limit, parameters)
    failures: dict[Path, str] = {}
    progress: object = None
    while left := [run for run in runs if run.folder not in failures and not run.finished]:
        now = {run.folder: progress_of(run.folder) for run in left}
        if now == progress:
            why = f"its workers ended without getting it any further; their logs are in {logs}"
            return failures | {run.folder: f"{run.folder}: {why}." for run in left}
        progress = now
        with executor.batch():
            jobs = [executor.submit(Job(left, tuple(imports), gpus, seconds)) for _ in range(min(workers, len(left)))]
        while not all(job.done() for job in jobs):
            time.sleep(PAUSE)
        for job in jobs:
            failures |= failures_of(job)
    return failures


def failures_of(job: Any) -> dict[Path, str]:
    """What a worker could not do. One that was killed says nothing; its runs are still on the list."""
    errors = needed("submitit.core.utils", "slurm")
    try:
        return job.result()
    except errors.FailedJobError as error:  # an error of ours, or of its surroundings
        raise UserError(f"Worker {job.job_id} failed: {str(error).strip().splitlines()[-1]}") from None
    except errors.UncompletedJobError:
        return {}


def make_executor(
    logs: Path, address: str | None, workers: int, gpus: int, time_limit: float, parameters: dict[str, str | int]
) -> Any:
    """submitit's, for Slurm, or for this machine if the address is ``local``."""
    submitit = needed("submitit", "slurm")
    if address not in (None, "local"):
        raise UserError(f"--on slurm takes no --address but 'local', which tries it out here; got '{address}'.")
    if address == "local":
        executor = submitit.LocalExecutor(logs / "%j", max_num_timeout=REQUEUES)
        executor.update_parameters(timeout_min=time_limit / 60, gpus_per_node=gpus, stderr_to_stdout=True)
        return executor
    try:
        executor = submitit.AutoExecutor(logs / "%j", cluster="slurm", slurm_max_num_timeout=REQUEUES)
        executor.update_parameters(
            name="openteam", timeout_min=math.ceil(time_limit / 60), cpus_per_task=1, gpus_per_node=gpus,
            stderr_to_stdout=True, slurm_array_parallelism=workers,
            **{f"slurm_{name}": value for name, value in parameters.items()},
        )  # fmt: skip
    except RuntimeError as error:
        raise UserError(f"There is no Slurm here: {error} To try it out on this machine: --address local.") from None
    except (NameError, AssertionError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())[:300]
        raise UserError(f"--slurm names something that submitit does not know: {said}") from None
    return executor
