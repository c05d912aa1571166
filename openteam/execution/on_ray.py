"""Runs on a Ray cluster: a task for each. The nodes need no shared disk; this side keeps the only folders.

Whoever runs a plan here holds the leases of all runs that are at work. Tasks send what they write through the object
store to a mailbox, and hear from it whether to go on. When a node dies, its runs are sent elsewhere, with what came
back last.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openteam.errors import UserError
from openteam.execution.extras import needed

if TYPE_CHECKING:
    from openteam.execution.mirror import Change, Files, Mirror
    from openteam.execution.worker import Queue, Run
    from openteam.storage.lock import Writer
    from openteam.training.driver import Progress

PAUSE = 0.3  # seconds between two looks into the mailbox
MAILBOXES = 10  # that may be lost
GRACE = 120.0  # seconds for states to come back after an interrupt
PASSED_ON = ("XLA_FLAGS", "NPROC", "JAX_PLATFORMS", "OPENTEAM_COMPILE", "OPENTEAM_KEYS")
"""Variables that change a run's digits or where it computes: on nodes they are as here."""


class Letter(NamedTuple):
    """What one task has written since its last one."""

    folder: Path
    attempt: int
    where: str
    process: int
    changes: list[Change]


class Mailbox:
    """An actor between tasks and us. Letters of an attempt that was given up are thrown away."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.attempts: dict[Path, int] = {}
        self.stopping = False

    async def expect(self, folder: Path, attempt: int) -> None:
        """From now on, only this attempt may write to the run."""
        self.attempts[folder] = attempt

    async def put(self, letter: Letter) -> bool:
        """Leave a letter. False: stop."""
        if self.attempts.get(letter.folder) != letter.attempt:
            return False
        self.letters.append(letter)
        while len(self.letters) > 1000 and not self.stopping:  # nobody empties it quickly enough
            await asyncio.sleep(PAUSE)
        return not self.stopping

    async def empty(self) -> list[Letter]:
        """All letters so far, in their order."""
        letters, self.letters = self.letters, []
        return letters

    async def stop(self) -> None:
        """Have everybody write a state and end."""
        self.stopping = True


class Parcel(NamedTuple):
    """All that a task needs."""

    folder: Path
    attempt: int
    files: Files
    imports: tuple[str, ...]
    sources: dict[str, bytes]
    """Modules of the user's that are not installed."""
    variables: dict[str, str]


def run_on_node(parcel: Parcel, mailbox: Any) -> str | None:
    """The task: a whole run in a folder of its own. Returns None, or why the run could not be brought to its end."""
    os.environ.update(parcel.variables)
    from openteam.threads import use_one_thread

    use_one_thread()
    from openteam.execution.mirror import Mirror, unpack
    from openteam.storage.imports import import_modules
    from openteam.training.driver import run_folders

    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "run"
        unpack(parcel.files, folder)
        put_sources(parcel.sources, Path(home))
        sender = Sender(parcel, mailbox, Mirror(folder))
        try:
            import_modules(parcel.imports)
            sender.report()
            run_folders([folder], sender.report)
        except UserError as error:
            return str(error).replace(str(folder), str(parcel.folder))
        except KeyboardInterrupt:  # we were told to stop, and the state is written
            return None
        finally:
            sender.send()
    return None


class Sender:
    """Tells the mailbox what a run has written."""

    def __init__(self, parcel: Parcel, mailbox: Any, mirror: Mirror):
        self.parcel, self.mailbox, self.mirror = parcel, mailbox, mirror

    def send(self) -> bool:
        """Whether to go on."""
        changes = self.mirror.changes()
        letter = Letter(self.parcel.folder, self.parcel.attempt, platform.node(), os.getpid(), changes)
        return needed("ray", "ray").get(self.mailbox.put.remote(letter))

    def report(self, progress: Progress | None = None) -> None:
        """What runs report to: nothing is being written then."""
        if not self.send():
            raise KeyboardInterrupt


def put_sources(sources: dict[str, bytes], home: Path) -> None:
    """The user's modules, where they can be imported."""
    for name, source in sources.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(source)
    sys.path.insert(0, str(home))


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
    state: int
    """Of when the state was that it began with."""


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
        from openteam.execution.mirror import files_of
        from openteam.storage.lock import claim
        from openteam.storage.run_folder import RunFolder
        from openteam.training.resuming import cut_to_state

        try:
            writer = claim(folder, self.queue.terms(folder))
        except UserError as error:
            self.queue.ended(folder, error)
            return
        try:
            cut_to_state(RunFolder.open(folder), writer.check)
            files = files_of(folder)
        except UserError as error:
            writer.note(state="failed", failure=str(error))
            writer.close()
            self.queue.ended(folder, error)
            return
        self.attempts += 1
        self.ray.get(self.mailbox.expect.remote(folder, self.attempts))
        variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        parcel = self.ray.put(Parcel(folder, self.attempts, files, self.imports, self.sources, variables))
        writer.note(where="cluster", process=0)
        task = self.task.options(name=f"openteam {folder.name}").remote(parcel, self.mailbox)
        self.running[task] = Attempt(folder, self.attempts, writer, writer.lease.progress)

    def look(self) -> None:
        """Write down what came, and see who has ended."""
        if not self.running:
            time.sleep(PAUSE)
            return
        ended, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=PAUSE)
        for letter in self.ray.get(self.mailbox.empty.remote()):  # after the look: an ended task has sent its last one
            self.write(letter)
        for task in ended:
            self.end(task, self.running.pop(task))

    def write(self, letter: Letter) -> None:
        """To the folder of the run, if the letter is from the task that is at it."""
        from openteam.execution.mirror import apply

        attempt = next((one for one in self.running.values() if one.number == letter.attempt), None)
        if attempt is None:
            return
        if (attempt.writer.lease.where, attempt.writer.lease.process) != (letter.where, letter.process):
            attempt.writer.note(where=letter.where, process=letter.process)
        apply(letter.changes, attempt.folder, attempt.writer.check)

    def end(self, task: Any, attempt: Attempt) -> None:
        """A task is over: well, with a sentence, by an error of ours, or because its node is gone."""
        errors = self.ray.exceptions
        try:
            said = self.ray.get(task)
            error = None if said is None else UserError(said)
        except errors.RayTaskError as failure:
            error = UserError(f"{attempt.folder} failed: {failure.cause!r}")
        except errors.RayError as failure:
            error = self.died(attempt, f"its node or process died ({type(failure).__name__})")
        from openteam.execution.processes import Died

        if error is not None and not isinstance(error, Died):
            attempt.writer.note(state="failed", failure=str(error))
        attempt.writer.close()
        if error is None and not self.queue.left[attempt.folder].finished:
            self.queue.at_work.discard(attempt.folder)  # it was stopped
        else:
            self.queue.ended(attempt.folder, error)

    def died(self, attempt: Attempt, how: str) -> UserError:
        """To be tried again, unless that was in vain several times in a row."""
        from openteam.execution.processes import Died
        from openteam.execution.worker import ATTEMPTS
        from openteam.storage.lock import progress_of

        before, count = self.deaths.get(attempt.folder, (-1, 0))
        now = progress_of(attempt.folder)
        count = count + 1 if now == before else 1
        self.deaths[attempt.folder] = (now, count)
        if count < ATTEMPTS:
            return Died(f"{attempt.folder}: {how}")
        return UserError(f"{attempt.folder}: {how}, {count} times before it got any further.")


def sources_of(imports: Sequence[str]) -> dict[str, bytes]:
    """The user's modules that are in the current folder, and so not on the nodes."""
    here, found = Path.cwd(), {}
    for top in dict.fromkeys(name.partition(".")[0] for name in imports):
        paths = [here / f"{top}.py", *(here / top).rglob("*.py")]
        found |= {str(path.relative_to(here)): path.read_bytes() for path in paths if path.is_file()}
    return found
