"""Leases: one owner at a time, whatever is frozen, killed or slow, and nothing written by who has lost one."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from openteam.errors import UserError
from openteam.storage import lease as leases
from openteam.storage import lock
from openteam.storage.lease import Lease, Patience, current_lease, lease_numbers, lease_path, watched_in_vain
from openteam.storage.lock import Held, Lost, Terms, alone_in, claim
from openteam.storage.rows import ROW_FILES, RowFile, append_bytes
from openteam.storage.run_folder import RunFolder
from openteam.storage.writing import write_atomic

ROW = b'{"step": 1}\n'


@pytest.fixture
def run(tmp_path) -> Path:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def from_elsewhere(run: Path, **changes) -> Lease:
    """The lease of a machine that we know nothing of."""
    number = max([0, *lease_numbers(run)]) + 1
    lease = Lease(number, owner="somebody", where="node7", machine="another", seconds=30.0, **changes)
    lease_path(run, number).write_bytes(lease.encode())
    return lease


def take_over(run: Path) -> lock.Writer:
    """As a worker does who has watched the run's lease in vain."""
    lease = current_lease(run)
    assert lease is not None
    return claim(run, Terms(stale=(lease,)))


def test_of_many_who_claim_at_once_one_gets_it(run):
    for number in range(1, 15):
        barrier, got, refused = threading.Barrier(8), [], []

        def try_it(barrier=barrier, got=got, refused=refused) -> None:
            barrier.wait()
            try:
                got.append(claim(run, Terms()))
            except Held as error:
                refused.append(str(error))

        threads = [threading.Thread(target=try_it) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(got), len(refused)) == (1, 7)
        assert lease_numbers(run) == [got[0].lease.number] == [number]
        got[0].close()


def test_a_lease_says_who_has_the_run_and_how_often_it_was_taken_up(run):
    with alone_in(run) as writer:
        lease = current_lease(run)
        assert lease == writer.lease
        assert (lease.number, lease.process, lease.state, lease.retries) == (1, os.getpid(), "held", 0)
        assert lease_path(run, 1).stat().st_size == leases.SIZE
        writer.note(state="failed", failure='so "long" \N{SNOWMAN} ' * 500)
        assert lease_path(run, 1).stat().st_size == leases.SIZE
    assert current_lease(run).failure.startswith('so "long" \N{SNOWMAN}')
    with alone_in(run):
        assert (current_lease(run).number, current_lease(run).retries) == (2, 1)
    assert current_lease(run).state == "free"


def test_who_was_slow_and_creates_a_number_that_was_used_before_gets_nothing(run):
    for _ in range(3):
        claim(run, Terms()).close()
    with alone_in(run) as fourth:
        with pytest.raises(Held):
            lock._create(run, Lease(2, owner="slow"))
        assert lease_numbers(run) == [4]
        fourth.check()


def test_a_lease_is_stale_when_it_did_not_change_for_as_long_as_it_lasts_by_the_observers_clock(run, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(leases.time, "monotonic", lambda: now)
    lease, patience = from_elsewhere(run), Patience()
    os.utime(lease_path(run, 1), (0, 0))  # whatever clocks and file systems say
    assert patience.judge(run, lease) == "unknown"
    now += 29
    assert patience.judge(run, lease) == "unknown"
    renewed = Lease(**vars(lease) | {"beat": 1})
    assert patience.judge(run, renewed) == "alive"
    now += 29
    assert patience.judge(run, renewed) == "alive"
    now += 2
    assert patience.judge(run, renewed) == "stale"
    with pytest.raises(Held, match="node7, process 0"):
        claim(run, Terms())
    with pytest.raises(Held):
        claim(run, Terms(stale=(renewed,)))  # it is not the one that is there
    take_over(run).close()


def test_after_a_power_cut_the_run_is_watched_and_then_free(run, monkeypatch):
    now, said = 0.0, []

    def wait(seconds: float) -> None:
        nonlocal now
        now += 5.0

    monkeypatch.setattr(leases.time, "monotonic", lambda: now)
    monkeypatch.setattr(leases.time, "sleep", wait)
    lease = from_elsewhere(run)
    assert watched_in_vain([run], said.append) == (lease,)
    assert 30 < now < 50
    assert "was last trained by node7, process 0" in said[0]
    with alone_in(run, Terms(stale=(lease,))):
        assert watched_in_vain([run], said.append) == ()  # ours: nothing to wait for


def test_renewing_a_lease_does_not_look_like_losing_it(run):
    writer = claim(run, Terms())
    thread = threading.Thread(target=lambda: [writer.note() for _ in range(100)])
    thread.start()
    while thread.is_alive():
        writer.check()
    assert writer.lease.beat == 100
    writer.close()


def test_a_lease_that_is_only_half_written_keeps_others_out(run):
    lease_path(run, 1).write_bytes(b'{"number": 1, "ow')
    with pytest.raises(Held):
        claim(run, Terms())
    assert current_lease(run).seconds == leases.LEASE_SECONDS


def test_a_process_that_died_here_is_followed_at_once_and_its_deaths_are_counted(run):
    code = "import os, pathlib, sys; from openteam.storage.lock import *; "
    code += "claim(pathlib.Path(sys.argv[1]), Terms()); os.kill(os.getpid(), 9)"
    for deaths in (0, 1):
        assert subprocess.run([sys.executable, "-c", code, str(run)], check=False).returncode == -signal.SIGKILL
        assert (current_lease(run).state, current_lease(run).deaths) == ("held", deaths)
    (run / "state.safetensors").write_bytes(b"new")  # it got further before it died
    with alone_in(run):
        assert current_lease(run).deaths == 0


def append(run: Path, check) -> None:
    append_bytes(run / "train.jsonl", b'{"step": 666}\n', check)


def cut(run: Path, check) -> None:
    RunFolder(run).cut_rows({name: [] for name in ROW_FILES}, check)


def replace(run: Path, check) -> None:
    write_atomic(run / "state.safetensors", b"too late", check)


def create(run: Path, check) -> None:
    write_atomic(run / "checkpoints/000000000001.safetensors", b"too late", check)


@pytest.mark.parametrize(("write", "last_check"), [(append, 2), (cut, 1), (replace, 1), (create, 1)])
def test_a_write_that_is_completed_after_a_takeover_has_no_effect(run, write, last_check):
    """The worst moment to be frozen at: all is prepared, the lease was looked at and still ours."""
    (run / "train.jsonl").write_bytes(ROW)
    (run / "state.safetensors").write_bytes(b"old")
    mine, theirs, checks = claim(run, Terms()), [], []

    def freeze() -> None:
        mine.check()
        checks.append(1)
        if len(checks) == last_check:
            theirs.append(take_over(run))

    with contextlib.suppress(Lost):  # a file that is not there any more cannot be moved; rows just go nowhere
        write(run, freeze)
    with pytest.raises(Lost, match="was taken over by another"):
        mine.check()
    mine.note()  # a renewal that comes too late
    assert lease_numbers(run) == [theirs[0].lease.number] == [2]
    assert (run / "train.jsonl").read_bytes() == ROW
    assert (run / "state.safetensors").read_bytes() == b"old"
    assert not list(run.glob("checkpoints/*")) + list(run.glob(".*.partial"))
    mine.close()
    theirs[0].close()


HAMMER = """
import pathlib, sys, time
from openteam.errors import UserError
from openteam.storage.lease import Patience, current_lease
from openteam.storage.lock import Terms, alone_in
from openteam.storage.rows import RowFile
from openteam.storage.writing import write_atomic

run, patience, until = pathlib.Path(sys.argv[1]), Patience(), time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    lease = current_lease(run)
    stale = lease is not None and lease.state == "held" and patience.judge(run, lease) == "stale"
    try:
        with alone_in(run, Terms(0.4, (lease,) if stale else ())) as writer:
            rows = RowFile(run / "train.jsonl", (), writer.check)
            for _ in range(40):
                rows.append([{"step": writer.lease.number}])
                write_atomic(run / "state.safetensors", b"%d" % writer.lease.number, writer.check)
    except UserError:
        time.sleep(0.02)
"""


def test_many_processes_that_are_frozen_at_random_never_write_after_their_successors(run):
    words = [sys.executable, "-c", HAMMER, str(run), "8"]
    processes = [subprocess.Popen(words) for _ in range(4)]
    chance, until, states = random.Random(0), time.monotonic() + 7, []
    while time.monotonic() < until:
        victims = chance.sample(processes, 3)
        for victim in victims:
            victim.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0.1, 1.0))
        states.append(int((run / "state.safetensors").read_bytes() if (run / "state.safetensors").exists() else 0))
        for victim in victims:
            victim.send_signal(signal.SIGCONT)
        time.sleep(chance.uniform(0.05, 0.2))
    assert [process.wait(timeout=60) for process in processes] == [0] * 4
    owners = [json.loads(line)["step"] for line in (run / "train.jsonl").read_text().splitlines()]
    assert owners == sorted(owners), "an owner wrote a row after a later one had"
    assert states == sorted(states)
    assert len(set(owners)) > 4, "the run hardly changed hands"


def test_a_folder_that_cannot_be_written_to_gets_a_sentence(run, monkeypatch):
    def refused(*args) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lock.os, "open", refused)
    with pytest.raises(UserError, match=r"Cannot claim .*: Permission denied"):
        claim(run, Terms())
    assert lease_numbers(run) == []


def test_rows_are_not_copied_when_nobody_can_be_in_the_middle_of_anything(run):
    rows = run / "train.jsonl"
    rows.write_bytes(ROW)
    before = rows.stat().st_ino
    for _ in range(2):
        with alone_in(run) as writer:
            RowFile(rows, [ROW], writer.check).append([])
    assert rows.stat().st_ino == before
