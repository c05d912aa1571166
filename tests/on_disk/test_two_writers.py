"""Two writers of one run: one goes on, the other gets a sentence, and what is on disk stays good."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openteam.cli import run
from openteam.errors import UserError
from openteam.execution.plan import read_plan
from openteam.storage.lease import current_lease
from openteam.storage.lock import Lost, Terms, alone_in
from openteam.training.driver import create_run, run_folders
from tests.on_disk.conftest import LEARNER, SETTINGS, TASK, at, content, interrupt, refused, snapshot

PLAN = {
    "tasks": ["probe-match"], "algorithms": ["ippo"], "steps": 16, "checkpoint_every": 8, "evaluation_episodes": 2,
    "set": {"algorithm.envs": 2, "algorithm.update_every": 2, "algorithm.network.width": 4,
            "algorithm.minibatches": 1, "algorithm.epochs": 1},
}  # fmt: skip


def in_a_thread(new: Path) -> str:
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(refused(new)))
    thread.start()
    thread.join()
    return said[0]


def by_command(new: Path) -> str:
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert run(["resume", str(new)]) == 2
    return errors.getvalue()


def by_plan(new: Path) -> str:
    """In a process of its own, as workers of plans are."""
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert run(["plan", str(new.parents[3] / "plan.json"), "--workers", "1"]) == 2
    return " ".join(errors.getvalue().split())


@pytest.mark.parametrize("second", [in_a_thread, by_command, by_plan])
def test_a_second_writer_gets_a_sentence_and_the_files_stay_equal(second, whole, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN | {"out": str(tmp_path / "runs")}))
    (planned,) = read_plan(tmp_path / "plan.json")
    planned.begin()
    said: list[str] = []
    run_folders([planned.folder], at(12, lambda: said.append(second(planned.folder))))
    assert "is being trained by another process or thread" in said[0]
    assert content(planned.folder) == content(whole)


def test_another_process_keeps_us_out_until_it_ends(new):
    hold = "import pathlib, sys; from openteam.storage.lock import alone_in\n"
    hold += "with alone_in(pathlib.Path(sys.argv[1])): print(flush=True); input()"
    words = [sys.executable, "-c", hold, str(new)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        before = snapshot(new)
        assert "being trained by another" in refused(new)
        with pytest.raises(UserError, match="being trained by another"):  # nor is it replaced, though it has no row yet
            create_run(TASK, LEARNER, SETTINGS, 1, new)
        assert snapshot(new) == before
        other.communicate("\n")
    with alone_in(new) as writer:
        writer.check()


def test_who_wakes_up_after_his_run_was_taken_over_and_finished_writes_nothing(new, whole):
    """As if frozen after a row for longer than the lease lasts, while another worker came to the end."""
    ended: list[dict[str, bytes]] = []

    def be_overtaken() -> None:
        lease = current_lease(new)
        assert lease is not None
        run_folders([new], terms=Terms(stale=(lease,)))
        ended.append(snapshot(new))

    with pytest.raises(Lost, match="was taken over by another process or thread"):
        run_folders([new], at(12, be_overtaken))
    assert snapshot(new) == ended[0]
    assert content(new) == content(whole)


def test_a_failure_is_noted_for_other_workers_and_an_interrupt_is_none(new):
    with pytest.raises(KeyboardInterrupt):
        run_folders([new], at(8, interrupt))
    assert current_lease(new).state == "free"
    (new / "state.safetensors").write_bytes(b"0" * 100)
    said = refused(new)
    assert (current_lease(new).state, current_lease(new).failure) == ("failed", said)


def test_a_run_that_is_trained_twice_at_once_is_refused(new):
    with pytest.raises(UserError, match="being trained by another"):
        run_folders([new, new])
