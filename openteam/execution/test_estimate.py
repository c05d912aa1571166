"""Estimates: from rows of the same kind of run on the same processor, or unknown."""

import json

import pytest

from openteam.execution.estimate import (
    forecast,
    in_words,
    measured_speeds,
    seconds_for,
    speed_of,
    timed_rows,
    total_time,
    wall_clock,
)
from openteam.storage.about import cpu_model
from openteam.storage.seal import sealed

CONFIG = {"task": {"name": "lbf"}, "learner": {"class": "GPL", "envs": 16}, "settings": {"steps": 120_000}}
OTHER = CONFIG | {"learner": {"class": "GPL", "envs": 64}}


def make_run(path, seconds, *, config=CONFIG, cpu=None):
    """A run with a row after every 1,000 steps that took these seconds."""
    path.mkdir(parents=True)
    cpu = cpu_model() if cpu is None else cpu
    (path / "about.json").write_text(json.dumps({"machine": {"cpu": cpu}}))
    (path / "config.json").write_text(json.dumps(sealed(config)))
    rows = [{"step": 1000 * number, "seconds": taken} for number, taken in enumerate(seconds, 1)]
    (path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_neither_compiling_nor_a_pause_counts(tmp_path):
    assert speed_of(timed_rows(make_run(tmp_path / "a", [60.0, 2.0, 2.0, 900.0, 2.0]))) == 500


def test_one_row_is_no_measurement(tmp_path):
    assert speed_of(timed_rows(make_run(tmp_path / "a", [60.0]))) is None


def test_several_runs_of_a_kind_are_one_speed_and_other_kinds_are_unknown(tmp_path):
    for seed, taken in enumerate((1.0, 2.0, 10.0)):
        make_run(tmp_path / str(seed), [taken] * 4)
    speeds = measured_speeds([tmp_path])
    assert seconds_for(CONFIG, 120_000, speeds) == pytest.approx(240)
    assert seconds_for(OTHER, 120_000, speeds) is None
    assert seconds_for(CONFIG | {"task": {"name": "wolfpack"}}, 120_000, speeds) is None


def test_another_processor_says_nothing(tmp_path):
    make_run(tmp_path / "run", [1.0] * 4, cpu="an abacus")
    assert measured_speeds([tmp_path]) == {}
    assert list(measured_speeds([tmp_path], "an abacus").values()) == [1000]


def test_rows_of_other_kinds_are_not_even_read(tmp_path, monkeypatch):
    make_run(tmp_path / "same", [2.0] * 4)
    make_run(tmp_path / "learner", [1.0] * 4, config=OTHER)
    make_run(tmp_path / "task", [1.0] * 4, config=CONFIG | {"task": {"name": "wolfpack"}})
    read = []
    monkeypatch.setattr("openteam.execution.estimate.timed_rows", lambda run: read.append(run.name) or timed_rows(run))
    assert list(measured_speeds([tmp_path], like=[CONFIG]).values()) == [500]
    assert read == ["same"]


@pytest.mark.parametrize("name", ["about.json", "config.json", "train.jsonl"])
@pytest.mark.parametrize("content", [b"\xff", b"{", b"[]", b'{"step": 1}\n{"step": "x"}'])
def test_a_damaged_run_is_passed_over(tmp_path, name, content):
    make_run(tmp_path / "good", [2.0] * 4)
    (make_run(tmp_path / "bad", [1.0] * 4) / name).write_bytes(content)
    assert list(measured_speeds([tmp_path]).values()) == [500]


def test_a_run_starts_as_soon_as_a_process_is_free():
    assert wall_clock([3.0, 1.0, 1.0, 2.0], 2) == 4
    assert wall_clock([3.0, 1.0, 1.0, 2.0], 1) == 7
    assert wall_clock([], 2) == 0


def test_durations_in_words():
    assert [in_words(seconds) for seconds in (None, 12.0, 90.0, 3600 * 3 + 60 * 20.0)] == [
        "unknown", "under a minute", "2 min", "3 h 20 min",
    ]  # fmt: skip


def test_a_forecast_reads_the_runs_beside_the_new_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "earlier", [2.0] * 4)
    new = [make_run(tmp_path / f"new-{seed}", []) for seed in range(3)]
    assert "about 4 min" in forecast(new[:1], 2)
    assert "about 8 min" in forecast(new, 2)
    assert "unknown" in forecast([make_run(tmp_path / "other", [], config=OTHER)], 2)


def test_the_time_of_a_plan_names_what_is_not_known():
    assert total_time([], 2) == "Nothing is left to do."
    assert "unknown" in total_time([None], 2)
    assert total_time([3600.0, 3600.0], 2).startswith("About 2.0 core-hours of training, 1 h 00 min with 2 processes;")
    assert "with one process; 1 of the runs" in total_time([3600.0, None], 1)
