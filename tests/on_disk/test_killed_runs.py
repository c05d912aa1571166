"""What a killed or interrupted run or start leaves: good to go on from, or refused and left as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.numpy import save

from openteam.analysis.compare import find_runs
from openteam.cli import run
from openteam.errors import UserError
from openteam.storage import writing
from openteam.storage.checkpoint import read_arrays, read_header
from openteam.storage.rows import RowFile, read_lines
from openteam.storage.run_folder import RunFolder
from openteam.storage.seal import sealed
from openteam.training.driver import create_run, run_folders
from openteam.training.recorder import Recorder
from tests.on_disk.conftest import LEARNER, SETTINGS, TASK, Killed, at, content, interrupt, kill, refused, snapshot


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


def test_an_interrupt_writes_a_state_and_only_the_rows_that_belong_to_it_are_kept(new, whole):
    with pytest.raises(KeyboardInterrupt):
        run_folders([new], at(8, interrupt))  # right after the row, before its update counts
    header = read_header(new / "state.safetensors")
    lines = read_lines(new / "train.jsonl")
    assert (header["updates"], header["run"]["rows"]["train.jsonl"]["rows"], len(lines)) == (1, 1, 2)
    run_folders([new])
    assert content(new) == content(whole)


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
