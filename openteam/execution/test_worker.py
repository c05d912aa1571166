"""Which run a worker takes next, and when it gives up."""

import os
import signal
import time
from pathlib import Path

import pytest

from openteam.errors import UserError
from openteam.execution.plan import PlannedRun
from openteam.execution.processes import Died
from openteam.execution.slots import Slot, cores, slots
from openteam.execution.stopping import stopped_by_signals
from openteam.execution.worker import Queue, RunOnDisk
from openteam.storage import lease as leases
from openteam.storage.lease import Lease, current_lease, lease_path
from openteam.storage.lock import Lost, Terms, alone_in, claim
from openteam.storage.run_folder import RunFolder
from openteam.training.settings import Settings


class Fake(RunOnDisk):
    """A run of which only leases matter."""

    @property
    def finished(self) -> bool:
        return (self.folder / "finished").exists()

    def begin(self) -> None:
        if (self.folder / "refuses").exists():
            raise UserError("It cannot be begun.")
        self.folder.mkdir(exist_ok=True)
        (self.folder / "config.json").touch()


@pytest.fixture
def runs(tmp_path) -> list[Fake]:
    return [Fake(tmp_path / name) for name in "abc"]


def elsewhere(run: Fake, **changes) -> Lease:
    """A run that another machine is at."""
    run.begin()
    lease = Lease(1, owner="x", where="node7", machine="another", seconds=30.0, **changes)
    lease_path(run.folder, 1).write_bytes(lease.encode())
    return lease


def finish(queue: Queue, folder: Path) -> None:
    (folder / "finished").touch()
    queue.ended(folder, None)


def test_runs_are_handed_out_in_order_and_each_once(runs):
    queue = Queue(runs)
    assert [next(queue), next(queue), next(queue)] == [run.folder for run in runs]
    assert next(queue) is None  # all have somebody: us
    for run in runs:
        finish(queue, run.folder)
    with pytest.raises(StopIteration):
        next(queue)
    assert queue.failures | queue.held() == {}


def test_what_is_finished_or_cannot_be_begun_stops_nothing(runs):
    for run, name in zip(runs, ("finished", "refuses"), strict=False):
        run.begin()
        (run.folder / name).touch()
    queue = Queue(runs)
    assert next(queue) == runs[2].folder
    assert queue.failures == {runs[1].folder: "It cannot be begun."}


def test_a_run_of_another_machine_is_left_alone_until_its_lease_is_stale(runs, monkeypatch):
    now = 0.0
    monkeypatch.setattr(leases.time, "monotonic", lambda: now)
    lease = elsewhere(runs[0])
    queue = Queue(runs[:1])
    assert next(queue) is None
    now = 29.0
    assert next(queue) is None
    now = 31.0
    assert next(queue) == runs[0].folder
    assert queue.terms(runs[0].folder) == Terms(60.0, (lease,))
    claim(runs[0].folder, Terms(60.0, (lease,))).close()
    finish(queue, runs[0].folder)
    with pytest.raises(StopIteration):
        next(queue)


def test_who_does_not_wait_leaves_runs_to_those_that_live_but_not_to_the_dead(runs, monkeypatch):
    now = 0.0
    monkeypatch.setattr(leases.time, "monotonic", lambda: now)
    lease = elsewhere(runs[0])
    queue = Queue(runs[:1], wait=False)
    assert next(queue) is None  # nobody knows yet
    lease_path(runs[0].folder, 1).write_bytes(Lease(**vars(lease) | {"beat": 1}).encode())
    with pytest.raises(StopIteration):
        next(queue)
    assert "is being trained by another" in queue.held()[runs[0].folder]
    runs[1].begin()
    with alone_in(runs[1].folder), pytest.raises(StopIteration):
        next(Queue(runs[1:2], wait=False))  # on this machine it is known at once
    assert next(Queue(runs[1:2], wait=False)) == runs[1].folder


def test_a_failure_of_another_worker_is_not_repeated_but_one_from_before_is_tried_again(runs):
    for run in runs[:2]:
        elsewhere(run, state="failed", failure="It diverged.")
    queue = Queue(runs)
    claim(runs[1].folder, Terms()).note(state="failed", failure="It diverged again.")
    assert [next(queue), next(queue)] == [runs[0].folder, runs[2].folder]
    assert queue.failures == {runs[1].folder: "It diverged again."}


def test_a_run_whose_processes_die_is_tried_three_times_unless_it_gets_further(runs):
    queue, folder = Queue(runs[:1]), runs[0].folder

    def die(deaths: int) -> None:
        assert next(queue) == folder
        number = (current_lease(folder) or Lease(0)).number + 1
        lost = Lease(number, owner="x", machine="another", seconds=0.0, deaths=deaths)
        lease_path(folder, number).write_bytes(lost.encode())
        queue.ended(folder, Died("It died."))
        while queue.left and queue.is_held(folder):
            time.sleep(0.001)

    for deaths in (0, 1, 0, 1, 2):
        assert not queue.failures
        die(deaths)
    assert queue.failures == {folder: "It died."}


def test_a_run_at_which_whole_workers_died_is_not_taken_by_those_that_are_left(runs, monkeypatch):
    now = 0.0
    monkeypatch.setattr(leases.time, "monotonic", lambda: now)
    queue = Queue(runs[:1])
    lease = elsewhere(runs[0], deaths=2)
    assert next(queue) is None
    now = 31.0
    with pytest.raises(StopIteration):
        next(queue)
    assert queue.failures == {runs[0].folder: "Its processes died 3 times before it got any further."}
    now, later = 0.0, Queue(runs[:1])
    assert later.old_failures == {runs[0].folder: lease}
    assert next(later) is None
    now = 31.0
    assert next(later) == runs[0].folder  # who comes later tries it once more


def test_a_run_that_was_taken_from_us_stays_on_the_list(runs):
    queue = Queue(runs[:1])
    folder = next(queue)
    elsewhere(runs[0])
    queue.ended(folder, Lost("It was taken over."))
    assert next(queue) is None
    assert queue.failures == {}


def test_a_planned_run_that_two_workers_begin_at_once_is_made_once(tmp_path, monkeypatch):
    run = PlannedRun("probe-constant", "ippo", 0, Settings(steps=320), tmp_path / "runs/seed-0")
    fill = RunFolder.fill

    def slowly(folder: RunFolder, config: dict) -> None:
        fill(folder, config)
        monkeypatch.setattr(RunFolder, "fill", fill)
        PlannedRun.begin(run)  # somebody else is faster
        claim(run.folder, Terms())  # and already at it

    monkeypatch.setattr(RunFolder, "fill", slowly)
    run.begin()
    assert current_lease(run.folder).state == "held"
    assert sorted(path.name for path in run.folder.parent.iterdir()) == ["seed-0"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, None])
def test_signals_and_the_time_limit_are_like_ctrl_c(number):
    def be_told() -> None:
        with stopped_by_signals(None if number else 0.01):
            if number:
                os.kill(os.getpid(), number)
            time.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        be_told()
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL


def test_every_process_has_a_place(monkeypatch):
    assert slots() == [Slot((core,)) for core in cores()]
    assert slots(1, pinned=False) == [Slot()]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,2,5,7")
    assert [slot.gpus for slot in slots(gpus_each=2)] == [("0", "2"), ("5", "7")]
    assert sorted(core for slot in slots(1, 1) for core in slot.cores) == cores()
    with pytest.raises(UserError, match="4 GPUs are visible here, too few for runs that are 5 at a time with 1 each"):
        slots(5, 1)
