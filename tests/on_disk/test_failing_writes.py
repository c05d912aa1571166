"""A full disk, a folder that vanishes, a start that fails: what is on disk stays good."""

from __future__ import annotations

import errno
import os
import resource
import shutil

import pytest

from openteam.errors import UserError
from openteam.storage.checkpoint import read_header
from openteam.storage.creation import is_free
from openteam.storage.run_folder import RunFolder
from openteam.storage.writing import write_atomic
from openteam.training.driver import create_run, create_runs, run_folders
from tests.on_disk.conftest import LEARNER, SETTINGS, TASK, at, content, snapshot


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
