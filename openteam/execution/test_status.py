"""How far runs are, from files alone."""

import dataclasses
import io
import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from openteam.cli import run
from openteam.commands.status_table import StatusTable, summary
from openteam.execution.status import RunStatus, Watched, folders_below, status_of
from openteam.storage.checkpoint import save_tree
from openteam.storage.lease import Lease, lease_path
from openteam.storage.lock import Terms, alone_in, claim


def make_run(folder: Path, steps: int = 400, rows: int = 0) -> Path:
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"settings": {"steps": steps}, "seed": 0}))
    for number in range(1, rows + 1):
        add_row(folder, 100 * number)
    return folder


def add_row(folder: Path, step: int) -> None:
    row = {"step": step, "seconds": 0.5, "return": None if step == 300 else step / 100, "value_loss": 0.1}
    with (folder / "train.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def checkpoint(folder: Path, step: int, state: int | None = None) -> None:
    (folder / f"checkpoints/{step:012d}.safetensors").touch()
    if state is not None:
        save_tree(folder / "state.safetensors", {}, {"kind": "state", "checkpoint": state})


def test_a_run_is_what_its_files_say(tmp_path):
    folder = make_run(tmp_path / "a", rows=3)
    assert status_of(folder) == RunStatus(folder, "waiting", 300, 400, 200.0, 2.0)
    checkpoint(folder, 0)
    assert status_of(folder).state == "interrupted"
    with alone_in(folder):
        found = status_of(folder)
        assert (found.state, found.retries) == ("running", 0)
        assert found.where.endswith(str(os.getpid()))
    add_row(folder, 400)
    checkpoint(folder, 400, state=0)
    assert status_of(folder).state == "interrupted"  # the state that belongs to the last checkpoint is missing
    checkpoint(folder, 400, state=400)
    assert (status_of(folder).state, status_of(folder).step) == ("finished", 400)


def test_failures_silence_and_damage_are_told(tmp_path):
    failed, silent, damaged = (make_run(tmp_path / name) for name in "abc")
    claim(failed, Terms()).note(state="failed", failure="It diverged.")
    assert (status_of(failed).state, status_of(failed).failure) == ("failed", "It diverged.")
    path = lease_path(silent, 3)
    path.write_bytes(Lease(3, where="node7", process=5, machine="another", seconds=10.0, retries=2).encode())
    assert (status_of(silent).state, status_of(silent).where, status_of(silent).retries) == ("running", "node7:5", 2)
    os.utime(path, (0, time.time() - 21))
    assert status_of(silent).state == "silent"
    (damaged / "config.json").write_text("{")
    assert status_of(damaged).state == "unreadable"
    assert status_of(tmp_path / "nowhere").state == "waiting"


def test_a_table_and_lines_of_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for name, rows in (("lbf/seed-0", 2), ("lbf/seed-1", 0)):
        make_run(tmp_path / name, rows=rows)
    checkpoint(tmp_path / "lbf/seed-0", 0)
    shutil.copytree(tmp_path / "lbf/seed-1", tmp_path / ".seed-2.0123.partial")
    assert run(["status", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "2 runs: 1 interrupted, 1 waiting; 25% of 800 steps" in shown
    assert "seed-0" in shown
    assert "seed-1" not in shown
    assert run(["status", str(tmp_path), "--all", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["state"], row["step"]) for row in rows] == [("interrupted", 200), ("waiting", 0)]
    assert run(["status", str(tmp_path / "none")]) == 2
    assert "There is no folder" in capsys.readouterr().err


def test_in_a_file_there_is_a_line_for_every_tenth_of_a_run(tmp_path):
    folders = [make_run(tmp_path / name, steps=1000) for name in "ab"]
    said = io.StringIO()
    table = StatusTable(folders, Console(file=said, width=200))
    table.thread = threading.Thread(target=lambda: None)  # we look by ourselves
    with table:
        for step in (10, 50, 100, 150):
            add_row(folders[0], step)
            table.show()
    assert [line.split("  ")[:3] for line in said.getvalue().splitlines()] == [["a", "waiting", "step 100 of 1,000"]]


def test_what_did_not_change_is_not_read_again(tmp_path, monkeypatch):
    folders = [make_run(tmp_path / name) for name in "abc"]
    checkpoint(folders[0], 400)
    read: list[Path] = []

    def noted(folder: Path) -> RunStatus:
        read.append(folder)
        return status_of(folder)

    monkeypatch.setattr("openteam.execution.status.status_of", noted)
    watched = Watched(folders)
    assert [one.state for one in watched.look()] == ["finished", "waiting", "waiting"]
    read.clear()
    watched.look()
    assert read == []
    with alone_in(folders[1]):
        assert [one.state for one in watched.look()] == ["finished", "running", "waiting"]
        watched.look()
        assert read == [folders[1], folders[1]]
    assert watched.look()[1].state == "waiting"


def test_how_long_it_will_take_is_told_if_it_is_known():
    half = RunStatus(Path("a"), "running", 300_000, 600_000, 100.0)
    assert summary([half]) == "1 run: 1 running; 50% of 600,000 steps; 50 min left"
    assert "left" not in summary([half, RunStatus(Path("b"), "waiting")])
    slow = dataclasses.replace(half, speed=10.0)
    assert summary([slow]).endswith("8 h 20 min left at this pace")


def test_a_thousand_runs_take_less_than_two_seconds(tmp_path):
    """Of CPU time: other tests may be at work."""
    first = make_run(tmp_path / "0", rows=40)
    checkpoint(first, 100, state=100)
    with alone_in(first):
        pass
    for number in range(1, 1000):
        shutil.copytree(first, tmp_path / str(number))
    began = time.process_time()
    found = [status_of(folder) for folder in folders_below(tmp_path)]
    assert time.process_time() - began < 2.0
    assert len(found) == 1000
    assert {one.step for one in found} == {4000}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("work nowhere", "There is nothing at nowhere"),
        ("work . --lease 0.1s", "--lease must lie between 1s and 1d"),
        ("work . --time-limit soon", "is no duration, such as 90s"),
        ("status nowhere", "There is no folder nowhere"),
        ("plan FILE --address auto", "--address is for --on ray and --on slurm"),
        ("plan FILE --on ray --slurm partition=x", "--slurm is for --on slurm"),
        ("plan FILE --on slurm --slurm partition", "--slurm takes NAME=VALUE"),
        ("plan FILE --on cloud", "invalid choice"),
        ("plan FILE --gpus 1", "0 GPUs are visible here"),
    ],
)
def test_a_mistake_gets_a_sentence(line, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "plan.json").write_text("{}")
    assert run(line.replace("FILE", str(tmp_path / "plan.json")).split()) == 2
    assert sentence in "".join(capsys.readouterr())


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_engine_that_is_not_installed_says_how_to_get_it(engine, package, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    plan = {"tasks": ["probe-constant"], "algorithms": ["ippo"], "steps": 320, "out": str(tmp_path / "runs")}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert run(["plan", str(tmp_path / "plan.json"), "--on", engine]) == 2
    assert f"needs the package {package}, which is not installed here: pip install" in capsys.readouterr().err
