"""Archived rows: the same rows, in little room, and damage is named."""

import json
import random

import numpy as np
import pytest

from openteam.errors import UserError
from openteam.storage import archive as archiving
from openteam.storage.archive import archive
from openteam.storage.checkpoint import read_arrays, save_tree
from openteam.storage.columns import COLUMNS, read_columns, write_columns
from openteam.storage.policies import policy_header
from openteam.storage.rows import ROW_FILES
from openteam.storage.run_folder import RunFolder

TRAIN = [{"step": n, "seconds": 0.1 * n, "loss": 1 / (n + 1), "return": None if n % 3 else 0.5 * n} for n in range(9)]
EPISODES = [{"step": n // 2, "split": "train" if n % 2 else "larger", "return": n / 7} for n in range(8)]
TRAIN_FILE = "train.jsonl"


@pytest.fixture
def run(tmp_path) -> RunFolder:
    """A finished run with two checkpoints and a state."""
    folder = RunFolder.create(tmp_path / "run", {"settings": {"steps": 8}})
    for step, rows in ((0, TRAIN[:1]), (8, TRAIN[1:])):
        folder.append("train.jsonl", rows)
        folder.append("episodes.jsonl", EPISODES if step else [])
        header = {"step": step, "checkpoint": step, "run": folder.coverage()}
        for path in (folder.checkpoint(step), folder.state):
            save_tree(path, {"weights": np.arange(3.0)}, header)
    return folder


def files_of(folder: RunFolder) -> set[str]:
    return {str(path.relative_to(folder.path)) for path in folder.path.rglob("*") if path.is_file()}


def test_rows_come_back_as_they_were_and_only_the_last_policy_stays(run):
    before = {name: run.rows(name) for name in ROW_FILES}
    archive(run.path)
    assert json.dumps({name: run.rows(name) for name in ROW_FILES}) == json.dumps(before)
    assert files_of(run) == {"config.json", "about.json", COLUMNS, "checkpoints/000000000008.safetensors"}
    assert run.finished


def test_archiving_twice_changes_nothing_and_all_checkpoints_may_stay(run):
    archive(run.path, every_checkpoint=True)
    assert len(run.checkpoints) == 2
    content = (run.path / COLUMNS).read_bytes()
    archive(run.path, every_checkpoint=True)
    assert (run.path / COLUMNS).read_bytes() == content


def test_without_its_policy_a_run_is_finished_and_has_all_its_rows(run):
    before, size = {name: run.rows(name) for name in ROW_FILES}, run.checkpoint(8).stat().st_size
    for _ in range(2):
        archive(run.path, rows_only=True)
        assert {name: run.rows(name) for name in ROW_FILES} == before
        assert run.finished
    assert run.checkpoint(8).stat().st_size < size
    assert read_arrays(run.checkpoint(8)) == {}
    assert run.policies == []
    with pytest.raises(UserError, match="archived without its policy"):
        policy_header(run.path)


def test_numpy_alone_reads_them(run):
    archive(run.path)
    with np.load(run.path / COLUMNS) as columns:
        assert columns["episodes/return"].tolist() == [row["return"] for row in EPISODES]
        assert columns["train/return is null"].tolist() == [row["return"] is None for row in TRAIN]


def test_a_kill_at_any_moment_loses_nothing(run, monkeypatch):
    before = {name: run.rows(name) for name in ROW_FILES}
    unlink = type(run.path).unlink
    for allowed in range(4):
        calls = []

        def dies(path, missing_ok=False, calls=calls, allowed=allowed):
            calls.append(path)
            if len(calls) > allowed:
                raise KeyboardInterrupt
            return unlink(path, missing_ok=missing_ok)

        with monkeypatch.context() as patch:
            patch.setattr(type(run.path), "unlink", dies)
            with pytest.raises(KeyboardInterrupt):
                archive(run.path)
        assert {name: run.rows(name) for name in ROW_FILES} == before
    archive(run.path)
    assert {name: run.rows(name) for name in ROW_FILES} == before


def test_rows_that_do_not_come_back_stay(run, monkeypatch):
    monkeypatch.setattr(
        archiving, "write_columns", lambda rows, tallies: write_columns(rows | {TRAIN_FILE: []}, tallies)
    )
    with pytest.raises(UserError, match="They stay as they are"):
        archive(run.path)
    assert "train.jsonl" in files_of(run)
    assert COLUMNS not in files_of(run)


def test_a_run_that_is_not_finished_is_refused(run):
    run.checkpoint(8).unlink()
    run.state.unlink()
    with pytest.raises(UserError, match="is not finished"):
        archive(run.path)


MIXED = ([{"step": 1}, {"stop": 1}], [{"step": 1}, {"step": 0.5}], [{"step": [1]}], [{"a": None}, {"a": "b"}])


@pytest.mark.parametrize("rows", MIXED)
def test_rows_without_common_fields_or_types_are_refused(rows):
    with pytest.raises(UserError, match="cannot become columns"):
        write_columns({TRAIN_FILE: rows}, {})


def test_every_flipped_bit_and_every_cut_is_noticed_or_harmless(run):
    archive(run.path)
    path, chance = run.path / COLUMNS, random.Random(0)
    content, rows, noticed = path.read_bytes(), run.rows("train.jsonl"), []
    for _ in range(200):
        damaged = bytearray(content)
        damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged if chance.random() < 0.8 else damaged[: chance.randrange(len(content))])
        try:
            found = run.rows("train.jsonl")
        except UserError as error:
            noticed.append(str(error))
        else:
            assert json.dumps(found) == json.dumps(rows)
    assert len(noticed) > 150
    assert all(COLUMNS in sentence for sentence in noticed)


def test_the_columns_of_another_run_are_refused(run, tmp_path):
    archive(run.path)
    rows, tallies = read_columns(run.path / COLUMNS)
    tallies["train.jsonl"]["rows"] -= 1
    (run.path / COLUMNS).write_bytes(write_columns(rows, tallies))
    with pytest.raises(UserError, match="holds other rows than those"):
        run.rows("train.jsonl")
