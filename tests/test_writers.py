"""Two writers, a full disk, a folder that vanishes, a start that fails: what is on disk stays good."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import inspect
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import jax
import pytest
from safetensors.numpy import save

import openteam
from openteam.analysis.compare import find_runs
from openteam.cli import run
from openteam.compile_cache import once_jit
from openteam.errors import UserError
from openteam.execution.plan import read_plan
from openteam.rollout import episodes
from openteam.storage import writing
from openteam.storage.checkpoint import read_arrays, read_header
from openteam.storage.creation import is_free
from openteam.storage.lease import current_lease, is_lease
from openteam.storage.lock import Lost, Terms, alone_in
from openteam.storage.rows import RowFile, read_lines
from openteam.storage.run_folder import RunFolder
from openteam.storage.seal import sealed
from openteam.storage.writing import write_atomic
from openteam.training import program
from openteam.training.driver import Progress, create_run, create_runs, run_folders
from openteam.training.loop import advance, start_carry
from openteam.training.recorder import Recorder
from openteam.training.settings import Settings

PLAY, BEGIN, ADVANCE = once_jit(inspect.unwrap(episodes.play)), inspect.unwrap(start_carry), once_jit(advance)
PLAN = {
    "tasks": ["probe-match"], "algorithms": ["ippo"], "steps": 16, "checkpoint_every": 8, "evaluation_episodes": 2,
    "set": {"algorithm.envs": 2, "algorithm.update_every": 2, "algorithm.network.width": 4,
            "algorithm.minibatches": 1, "algorithm.epochs": 1},
}  # fmt: skip
SETTINGS = Settings(steps=16, checkpoint_every=8, evaluation_episodes=2)
TASK = openteam.make("probe-match")
LEARNER = dataclasses.replace(
    openteam.make_algorithm("ippo"), envs=2, update_every=2, minibatches=1, epochs=1,
    network=openteam.SetNetworks(width=4),
)  # fmt: skip


class Killed(Exception):
    """Nothing in the package catches it, so nothing more is written."""


@pytest.fixture(autouse=True)
def compiled_quickly(monkeypatch):
    monkeypatch.setattr(episodes, "play", PLAY)
    monkeypatch.setattr(program, "start_one", BEGIN)
    monkeypatch.setattr(program, "advance_one", ADVANCE)
    with jax.debug_key_reuse(False):
        yield


@pytest.fixture
def new(tmp_path) -> Path:
    create_run(TASK, LEARNER, SETTINGS, 0, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that nobody disturbed."""
    path = tmp_path_factory.mktemp("whole") / "run"
    create_run(TASK, LEARNER, SETTINGS, 0, path)
    with pytest.MonkeyPatch.context() as patch, jax.debug_key_reuse(False):
        patch.setattr(episodes, "play", PLAY)
        patch.setattr(program, "start_one", BEGIN)
        patch.setattr(program, "advance_one", ADVANCE)
        run_folders([path])
    return path


def content(folder: Path) -> dict[str, object]:
    """Every file that must be equal: tensors byte by byte, rows but for the time they took."""
    found: dict[str, object] = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.safetensors")}
    for path in folder.glob("*.jsonl"):
        rows = map(json.loads, path.read_text().splitlines())
        found[path.name] = [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
    return found | {name: (folder / name).read_bytes() for name in ("config.json",)}


def snapshot(folder: Path) -> dict[str, bytes]:
    """All files but leases, which change whenever somebody is at the run."""
    files = [path for path in folder.rglob("*") if path.is_file() and not is_lease(path.name)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def at(step: int, action):
    """Do something when a run reports this step's row, and before it writes anything more."""

    def report(progress: Progress) -> None:
        if progress.step == step and progress.evaluation is None:
            action()

    return report


def refused(path) -> str:
    with pytest.raises(UserError) as error:
        run_folders([path])
    return str(error.value)


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


@pytest.mark.parametrize("what", ["train.jsonl", "state.safetensors"])
def test_a_file_that_cannot_grow_gets_a_sentence_and_the_run_goes_on_later_to_the_same_end(what, new, whole):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_the_disk() -> None:
        size = (new / what).stat().st_size
        room = 20 if what == "train.jsonl" else -1  # half a row still fits
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))

    try:
        with pytest.raises(UserError) as error:
            run_folders([new], at(12, fill_the_disk))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"Cannot write {new / what}: File too large. What was written before stays" in str(error.value)
    assert f"openteam resume {new}" in str(error.value)
    assert not [name for name in snapshot(new) if name.endswith(".partial")]
    assert read_header(new / "state.safetensors")["updates"] == 2
    run_folders([new])
    assert content(new) == content(whole)


def test_a_folder_that_vanishes_ends_the_run_and_is_not_made_again(new):
    with pytest.raises(UserError, match="was removed or replaced while it was being trained"):
        run_folders([new], at(12, lambda: shutil.rmtree(new)))
    assert not new.exists()


def test_a_run_that_was_made_in_the_place_of_another_is_not_written_to_by_that(new):
    def replace() -> None:
        shutil.rmtree(new)
        create_run(TASK, LEARNER, SETTINGS, 1, new)

    with pytest.raises(UserError, match="was removed or replaced"):
        run_folders([new], at(12, replace))
    assert RunFolder.open(new).config["seed"] == 1
    assert is_free(new)


def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomic(path, b"old")

    def full(_: int) -> None:
        assert path.read_bytes() == b"old"  # nobody sees half of the new one
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"Cannot write .*x\.json: No space left on device"):
        write_atomic(path, b"new")
    assert snapshot(tmp_path) == {"x.json": b"old"}


def test_rows_come_before_the_policy_and_the_policy_before_the_state(new, monkeypatch):
    order: list[str] = []
    write, append = writing.write_atomic, RowFile.append

    def wrote(path: Path, data: bytes, check) -> None:
        order.append(path.name)
        write(path, data, check)

    def appended(file: RowFile, rows) -> None:
        order.append(file.path.name)
        append(file, rows)

    monkeypatch.setattr("openteam.storage.checkpoint.write_atomic", wrote)
    monkeypatch.setattr(RowFile, "append", appended)
    run_folders([new])
    stretches = ["train.jsonl"] * 2
    checkpoints = [["episodes.jsonl", f"{step:012d}.safetensors", "state.safetensors"] for step in (0, 8, 16)]
    assert order == [*checkpoints[0], *stretches, *checkpoints[1], *stretches, *checkpoints[2]]


def test_a_state_with_another_number_of_updates_than_its_arrays_is_refused(new):
    with pytest.raises(Killed):
        run_folders([new], at(12, kill))
    state = new / "state.safetensors"
    header = read_header(state) | {"updates": 3}
    state.write_bytes(save(read_arrays(state), {"openteam": json.dumps(sealed(header))}))
    before = snapshot(new)
    assert "its number of updates is not that of its header" in refused(new)
    assert snapshot(new) == before


def kill() -> None:
    raise Killed


def test_an_interrupt_writes_a_state_and_only_the_rows_that_belong_to_it_are_kept(new, whole):
    with pytest.raises(KeyboardInterrupt):
        run_folders([new], at(8, interrupt))  # right after the row, before its update counts
    header = read_header(new / "state.safetensors")
    lines = read_lines(new / "train.jsonl")
    assert (header["updates"], header["run"]["rows"]["train.jsonl"]["rows"], len(lines)) == (1, 1, 2)
    run_folders([new])
    assert content(new) == content(whole)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_resuming_a_finished_run_without_its_state_changes_nothing(whole, tmp_path, capsys):
    copy = shutil.copytree(whole, tmp_path / "copy")
    (copy / "state.safetensors").unlink()
    (copy / "checkpoints/000000000008.safetensors").unlink()
    before = snapshot(copy)
    assert run(["resume", str(copy)]) == 0
    assert "Finished before, nothing to do" in capsys.readouterr().out
    run_folders([copy])
    assert snapshot(copy) == before


def test_an_unfinished_run_without_its_state_is_refused_and_can_be_trained_again_elsewhere(new, whole, capsys):
    with pytest.raises(Killed):
        run_folders([new], at(12, kill))
    (new / "state.safetensors").unlink()
    before = snapshot(new)
    assert run(["resume", str(new)]) == 2
    assert f"openteam resume {new} --again NEW" in capsys.readouterr().err
    assert run(["resume", str(new), "--again", str(new.parent / "again")]) == 0
    assert snapshot(new) == before
    assert content(new.parent / "again") == content(whole)


def test_a_run_killed_before_its_first_state_begins_again(new, whole, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "state", lambda *_: kill())
        with pytest.raises(Killed):
            run_folders([new])
    with (new / "episodes.jsonl").open("a") as file:
        file.write('{"step": 0, "spl')
    run_folders([new])
    assert content(new) == content(whole)


def test_a_start_that_fails_leaves_nothing_and_can_be_repeated(tmp_path, monkeypatch):
    def full(folder: RunFolder, name: str, value: dict) -> None:
        if name == "config.json" and value["seed"] == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(folder, name, value)

    written = RunFolder.write_json
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_json", full)
        with pytest.raises(UserError, match=r"Cannot write to .*runs: No space left on device"):
            create_runs(TASK, LEARNER, SETTINGS, [0, 1], tmp_path / "deep/er/runs")
    for wrong in ({"seed": -1}, {"seed": "0"}, {"task": "lbf"}, {"learner": "gpl-q"}):
        given = {"task": TASK, "learner": LEARNER, "settings": SETTINGS, "seed": 0} | wrong
        with pytest.raises((UserError, TypeError)):
            create_run(given["task"], given["learner"], given["settings"], given["seed"], tmp_path / "deep/er/runs")
    assert list(tmp_path.iterdir()) == []
    folders = create_runs(TASK, LEARNER, SETTINGS, [0, 1], tmp_path / "deep/er/runs")
    assert [RunFolder.open(folder).config["seed"] for folder in folders] == [0, 1]


def test_what_a_killed_start_left_is_no_run_and_no_obstacle(new, whole, tmp_path, monkeypatch):
    shutil.copytree(new, tmp_path / "runs/.seed-1.0123.partial")
    shutil.copytree(whole, tmp_path / "runs/seed-0")
    assert find_runs([tmp_path / "runs"]) == [tmp_path / "runs/seed-0"]
    (new / "config.json").unlink()
    monkeypatch.chdir(new)  # an existing folder stays, where a shell may stand
    create_run(TASK, LEARNER, SETTINGS, 1, ".")
    assert RunFolder.open(".").config["seed"] == 1
    (new / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="already exists and is not empty"):
        create_run(TASK, LEARNER, SETTINGS, 2, new)
    assert (new / "notes.txt").exists()
