"""Who gets which run, and what is written down, when nodes, tasks and the mailbox fail. The cluster is a fake, of one
thread; tests/test_clusters.py has a real one."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from openteam.execution import on_ray
from openteam.execution.mirror import Change
from openteam.execution.on_ray import Driver
from openteam.execution.ray_task import Letter, Mailbox, Parcel
from openteam.execution.worker import Queue, RunOnDisk
from openteam.storage import run_folder
from openteam.storage.lease import current_lease
from openteam.storage.lock import Terms, claim


class RayError(Exception):
    """The cluster's fault."""


class RayTaskError(RayError):
    """The task's fault."""

    cause = ValueError("a mistake of ours")


class Handle:
    """Of an actor: every method has a ``remote`` that gives a promise."""

    def __init__(self, actor: Mailbox):
        self.actor, self.lost = actor, False

    def __getattr__(self, name: str):
        def call(*args):
            if self.lost:
                return lambda: raise_error(RayError())
            answer = asyncio.run(getattr(self.actor, name)(*args))
            return lambda: answer

        return SimpleNamespace(remote=call)


def raise_error(error: BaseException):
    raise error


Task = Callable[[Parcel, Handle], object]


class FakeRay:
    """Tasks run when they are asked for, by what a test says that they do."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, tasks: list[Task]):
        self.tasks, self.parcels, self.mailboxes = tasks, [], []

    def get(self, promise):
        return promise()

    def put(self, value):
        return value

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def get_runtime_context(self):
        return SimpleNamespace(get_node_id=lambda: "here")

    def cancel(self, task, force: bool) -> None:
        pass

    def wait(self, tasks, num_returns: int, timeout: float):
        return list(tasks), []

    def remote(self, **options):
        return lambda what: SimpleNamespace(remote=self.actor, options=lambda name: SimpleNamespace(remote=self.start))

    def actor(self) -> Handle:
        self.mailboxes.append(Handle(Mailbox()))
        return self.mailboxes[-1]

    def start(self, parcel: Parcel, mailbox: Handle):
        self.parcels.append(parcel)
        try:
            result = self.tasks.pop(0)(parcel, mailbox)
        except RayError as error:
            caught = error
            return lambda: raise_error(caught)
        return lambda: result


class Run(RunOnDisk):
    """Finished once it has a row."""

    @property
    def finished(self) -> bool:
        return (self.folder / "train.jsonl").exists() and (self.folder / "train.jsonl").stat().st_size > 0


@pytest.fixture
def run(tmp_path, monkeypatch) -> Run:
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    run_folder.RunFolder(tmp_path / "run").write_json("config.json", run_folder.sealed({"seed": 0}))
    return Run(tmp_path / "run")


def drive(run: Run, tasks: list[Task], monkeypatch) -> tuple[Queue, FakeRay]:
    ray = FakeRay(tasks)
    strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: None)
    monkeypatch.setattr(on_ray, "needed", lambda module, engine: ray if module == "ray" else strategies)
    queue = Queue([run], wait=False)
    Driver(queue, None, 0, ()).work()
    return queue, ray


def write(parcel: Parcel, mailbox: Handle, change: Change | None = None, attempt: int | None = None) -> bool:
    change = change or Change("train.jsonl", 0, b'{"step": 1}\n')
    letter = Letter(parcel.folder, attempt or parcel.attempt, "node7", 5, [change])
    return mailbox.put.remote(letter)()


def finish(parcel: Parcel, mailbox: Handle) -> None:
    assert write(parcel, mailbox)


def die(parcel: Parcel, mailbox: Handle) -> None:
    raise RayError("node died")


def test_what_a_task_writes_is_in_the_folder_and_nothing_is_run_twice(run, monkeypatch):
    queue, ray = drive(run, [finish], monkeypatch)
    assert queue.failures | queue.held() == {}
    assert (run.folder / "train.jsonl").read_bytes() == b'{"step": 1}\n'
    lease = current_lease(run.folder)
    assert (lease.state, lease.where, lease.process) == ("free", "node7", 5)
    assert ray.parcels[0].files.keys() == {"config.json"}
    queue, ray = drive(run, [], monkeypatch)
    assert (queue.failures, ray.parcels) == ({}, [])


def test_a_run_whose_node_dies_is_sent_elsewhere(run, monkeypatch):
    queue, ray = drive(run, [die, die, finish], monkeypatch)
    assert queue.failures == {}
    assert [parcel.attempt for parcel in ray.parcels] == [1, 2, 3]
    assert current_lease(run.folder).retries == 2


def test_a_run_that_kills_every_node_is_given_up(run, monkeypatch):
    queue, _ = drive(run, [die, die, die], monkeypatch)
    assert "its node or process died (RayError), 3 times before it got any further" in queue.failures[run.folder]
    assert current_lease(run.folder).state == "failed"


def test_a_sentence_and_a_mistake_of_ours_fail_a_run(run, monkeypatch):
    queue, _ = drive(run, [lambda *_: "It diverged."], monkeypatch)
    assert queue.failures == {run.folder: "It diverged."}
    queue, _ = drive(run, [lambda *_: raise_error(RayTaskError())], monkeypatch)
    assert "failed: ValueError('a mistake of ours')" in queue.failures[run.folder]


def test_when_the_mailbox_is_lost_there_is_another_and_the_run_is_sent_again(run, monkeypatch):
    def lose_it(parcel: Parcel, mailbox: Handle) -> None:
        mailbox.lost = True

    queue, ray = drive(run, [lose_it, finish], monkeypatch)
    assert queue.failures | queue.held() == {}
    assert len(ray.mailboxes) == 2


def test_a_task_that_was_given_up_cannot_write_any_more(run, monkeypatch):
    def with_an_echo(parcel: Parcel, mailbox: Handle) -> None:
        assert not write(parcel, mailbox, Change("train.jsonl", 0, b"late"), attempt=1)
        assert write(parcel, mailbox)

    drive(run, [die, with_an_echo], monkeypatch)
    assert (run.folder / "train.jsonl").read_bytes() == b'{"step": 1}\n'


def test_a_run_that_somebody_took_over_is_left_to_him(run, monkeypatch):
    others = []

    def be_overtaken(parcel: Parcel, mailbox: Handle) -> None:
        others.append(claim(run.folder, Terms(stale=(current_lease(run.folder),))))
        write(parcel, mailbox)

    queue, _ = drive(run, [be_overtaken], monkeypatch)
    assert not (run.folder / "train.jsonl").exists()
    assert "is being trained by another" in queue.held()[run.folder]
    assert current_lease(run.folder).owner == others[0].lease.owner
    others[0].close()


def test_an_interrupt_takes_what_still_comes(run, monkeypatch):
    def interrupted(parcel: Parcel, mailbox: Handle) -> None:
        write(parcel, mailbox)

    look = Driver.look

    def press(driver: Driver) -> None:
        monkeypatch.setattr(Driver, "look", look)
        raise KeyboardInterrupt

    monkeypatch.setattr(Driver, "look", press)
    with pytest.raises(KeyboardInterrupt):
        drive(run, [interrupted], monkeypatch)
    assert run.finished
    assert current_lease(run.folder).state == "free"


def test_modules_in_the_current_folder_are_sent_along(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_worlds.py").write_text("x = 1")
    Path("mine").mkdir()
    Path("mine/maze.py").write_text("y = 2")
    sources = on_ray.sources_of(["my_worlds", "mine.maze", "numpy"])
    assert sources == {"my_worlds.py": b"x = 1", "mine/maze.py": b"y = 2"}
