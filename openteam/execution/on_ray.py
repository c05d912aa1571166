"""Runs on a Ray cluster: a task for each. The nodes need no shared disk; this side keeps the only folders.

Whoever runs a plan here holds the leases of all runs that are at work. Tasks send what they write through the object
store to a mailbox, and hear from it whether to go on. When a node dies, its runs are sent elsewhere, with what came
back last.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openteam.errors import UserError
from openteam.execution.extras import needed
from openteam.execution.ray_task import PAUSE, Letter, Mailbox, Parcel, run_on_node

if TYPE_CHECKING:
    from openteam.execution.worker import Queue, Run
    from openteam.storage.lock import Writer

MAILBOXES = 10  # that may be lost
GRACE = 120.0  # seconds for states to come back after an interrupt
PASSED_ON = ("XLA_FLAGS", "NPROC", "JAX_PLATFORMS", "OPENTEAM_COMPILE", "OPENTEAM_KEYS")
"""Variables that change a run's digits or where it computes: on nodes they are as here."""


def bring_to_end(
    runs: Sequence[Run],
    *,
    address: str | None = None,
    workers: int | None = None,
    gpus: int = 0,
    imports: Sequence[str] = (),
    seconds: float,
) -> dict[Path, str]:
    """All runs on a cluster, or on one that is started here for them. What could not be done, and why."""
    from openteam.execution.worker import Queue

    connect(address)
    queue = Queue(runs, seconds, wait=False)
    Driver(queue, workers, gpus, tuple(imports)).work()
    return queue.failures | queue.held()


def connect(address: str | None) -> None:
    """Join the cluster at an address, or start one, which ends with this process. To be done before JAX is imported:
    Ray forks processes, and JAX has threads."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = needed("ray", "ray")
    if ray.is_initialized():
        return
    try:
        more: dict[str, Any] = {"include_dashboard": False} if address is None else {}
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **more)
    except (ConnectionError, RuntimeError, ValueError) as error:
        said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise UserError(f"There is no Ray cluster at {address}: {said}. Start one with: ray start --head") from None


class Attempt(NamedTuple):
    """A task that is at a run."""

    folder: Path
    number: int
    writer: Writer


class Driver:
    """Hands runs out and writes down what comes back."""

    def __init__(self, queue: Queue, workers: int | None, gpus: int, imports: tuple[str, ...]):
        self.ray = ray = needed("ray", "ray")
        self.queue, self.workers, self.gpus, self.imports = queue, workers, gpus, imports
        self.sources = sources_of(imports)
        self.mailbox, self.lost_mailboxes = self.new_mailbox(), 0
        self.task: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0, max_calls=1)(run_on_node)
        self.running: dict[Any, Attempt] = {}
        self.deaths: dict[Path, tuple[int, int]] = {}
        self.attempts = 0

    def new_mailbox(self) -> Any:
        """On this node, whose end is ours, too."""
        here = self.ray.get_runtime_context().get_node_id()
        stay = needed("ray.util.scheduling_strategies", "ray").NodeAffinitySchedulingStrategy(here, soft=False)
        return self.ray.remote(num_cpus=0, scheduling_strategy=stay)(Mailbox).remote()

    def work(self) -> None:
        """Until nothing is left to do. An interrupt waits for states to come back."""
        try:
            while self.advance():
                pass
        except KeyboardInterrupt:
            self.wait_for_states()
            raise
        finally:
            self.give_up()

    def advance(self) -> bool:
        """Hand out and write down. Whether there is more to do."""
        try:
            more = self.fill()
            self.look()
        except self.ray.exceptions.RayError as error:  # the mailbox is gone: Ray ends processes when memory runs out
            self.give_up()
            self.lost_mailboxes += 1
            if self.lost_mailboxes > MAILBOXES:
                raise UserError(f"The Ray cluster does not work any more: {type(error).__name__}.") from None
            self.mailbox = self.new_mailbox()
            return True
        return more or bool(self.running)

    def wait_for_states(self) -> None:
        """Have all tasks write their states, and take them, unless that takes too long."""
        with contextlib.suppress(self.ray.exceptions.RayError):
            self.ray.get(self.mailbox.stop.remote())
            until = time.monotonic() + GRACE
            while self.running and time.monotonic() < until:
                self.look()

    def give_up(self) -> None:
        """End all tasks that are left. What came back from them stays."""
        for task, attempt in self.running.items():
            self.ray.cancel(task, force=True)
            attempt.writer.close()
            self.queue.at_work.discard(attempt.folder)
        self.running.clear()

    def fill(self) -> bool:
        """Send runs out as long as there is room. Whether there may be more later."""
        while len(self.running) < self.room():
            folder = next(self.queue, False)
            if folder is False:
                return False
            if folder is None:
                return True
            assert isinstance(folder, Path)
            self.send(folder)
        return True

    def room(self) -> int:
        """How many runs at a time; nodes come and go."""
        there = self.ray.cluster_resources()
        room = int(there.get("CPU", 0))
        if self.gpus:
            room = min(room, int(there.get("GPU", 0)) // self.gpus)
        return room if self.workers is None else min(room, self.workers)

    def send(self, folder: Path) -> None:
        """Claim a run and hand it to the cluster."""
        from openteam.storage.lock import claim

        try:
            writer = claim(folder, self.queue.terms(folder))
        except UserError as error:
            self.queue.ended(folder, error)
            return
        try:
            self.hand_out(folder, writer)
        except UserError as error:
            self.fail(folder, writer, error)
        except BaseException:
            writer.close()
            self.queue.at_work.discard(folder)
            raise

    def hand_out(self, folder: Path, writer: Writer) -> None:
        """Send what a run needs to go on."""
        from openteam.execution.mirror import files_of
        from openteam.storage.run_folder import RunFolder
        from openteam.training.resuming import cut_to_state

        cut_to_state(RunFolder.open(folder), writer.check)
        self.attempts += 1
        self.ray.get(self.mailbox.expect.remote(folder, self.attempts))
        variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        parcel = Parcel(folder, self.attempts, files_of(folder), self.imports, self.sources, variables)
        writer.note(where="cluster", process=0)
        task = self.task.options(name=f"openteam {folder.name}").remote(self.ray.put(parcel), self.mailbox)
        self.running[task] = Attempt(folder, self.attempts, writer)

    def fail(self, folder: Path, writer: Writer, error: UserError) -> None:
        """A run that cannot be brought to its end, or that is not ours any more."""
        from openteam.storage.lock import Lost

        if not isinstance(error, Lost):
            writer.note(state="failed", failure=str(error))
        writer.close()
        self.queue.ended(folder, error)

    def look(self) -> None:
        """Write down what came, and see who has ended."""
        if not self.running:
            time.sleep(PAUSE)
            return
        ended, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=PAUSE)
        for letter in self.ray.get(self.mailbox.empty.remote()):  # after the look: an ended task has sent its last one
            self.write(letter)
        for task in ended:
            if task in self.running:
                self.end(task, self.running.pop(task))

    def write(self, letter: Letter) -> None:
        """To the folder of the run, if the letter is from the task that is at it."""
        from openteam.execution.mirror import apply

        found = [(task, attempt) for task, attempt in self.running.items() if attempt.number == letter.attempt]
        for task, (folder, _, writer) in found:
            if (writer.lease.where, writer.lease.process) != (letter.where, letter.process):
                writer.note(where=letter.where, process=letter.process)
            try:
                apply(letter.changes, folder, writer.check)
            except UserError as error:  # a full disk, or somebody took the run over
                self.ray.cancel(task, force=True)
                del self.running[task]
                self.fail(folder, writer, error)

    def end(self, task: Any, attempt: Attempt) -> None:
        """A task is over: well, with a sentence, by an error of ours, or because its node is gone."""
        folder, _, writer = attempt
        errors = self.ray.exceptions
        try:
            said = self.ray.get(task)
        except errors.RayTaskError as error:
            said = f"{folder} failed: {error.cause!r}"
        except errors.RayError as error:
            self.bury(folder, writer, f"its node or process died ({type(error).__name__})")
            return
        if said is not None:
            self.fail(folder, writer, UserError(said))
            return
        writer.close()
        if self.queue.left[folder].finished:
            self.queue.ended(folder, None)
        else:
            self.queue.at_work.discard(folder)  # it was stopped

    def bury(self, folder: Path, writer: Writer, how: str) -> None:
        """A run whose task died is tried again, unless that was in vain several times in a row."""
        from openteam.execution.processes import Died
        from openteam.execution.worker import ATTEMPTS
        from openteam.storage.lock import progress_of

        before, count = self.deaths.get(folder, (-1, 0))
        now = progress_of(folder)
        count = count + 1 if now == before else 1
        self.deaths[folder] = (now, count)
        if count >= ATTEMPTS:
            self.fail(folder, writer, UserError(f"{folder}: {how}, {count} times before it got any further."))
            return
        writer.close()
        self.queue.ended(folder, Died(f"{folder}: {how}"))


def sources_of(imports: Sequence[str]) -> dict[str, bytes]:
    """The user's modules that are in the current folder, and so not on the nodes."""
    here, found = Path.cwd(), {}
    for top in dict.fromkeys(name.partition(".")[0] for name in imports):
        paths = [here / f"{top}.py", *(here / top).rglob("*.py")]
        found |= {str(path.relative_to(here)): path.read_bytes() for path in paths if path.is_file()}
    return found
