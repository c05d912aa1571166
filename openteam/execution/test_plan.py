"""A plan's runs: which there are, what is left to do for each, and that they are done."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openteam.cli import run
from openteam.errors import UserError
from openteam.execution.plan import read_plan, unfinished, what_to_do
from openteam.storage.checkpoint import read_header, save_tree
from openteam.storage.run_folder import RunFolder

PLANS = Path(__file__).parents[2] / "plans"
SMALL = {
    "algorithm.envs": 4,
    "algorithm.network.width": 4,
    "algorithm.update_every": 4,
    "algorithm.minibatches": 1,
    "algorithm.epochs": 1,
}


def write_plan(folder: Path, **keys) -> Path:
    plan = {
        "out": str(folder / "runs"), "tasks": ["probe-constant"], "algorithms": ["ippo"], "steps": 320,
        "checkpoint_every": 160, "evaluation_episodes": 4, "set": SMALL,
    } | keys  # fmt: skip
    path = folder / "plan.json"
    path.write_text(json.dumps({key: value for key, value in plan.items() if value is not None}))
    return path


def test_a_plan_is_a_product_and_first_seeds_come_first(tmp_path):
    planned = read_plan(write_plan(tmp_path, tasks=["lbf", "wolfpack"], algorithms=["gpl-q", "ippo"], seeds=[3, 1]))
    assert [(run.task, run.algorithm, run.seed) for run in planned[:5]] == [
        ("lbf", "gpl-q", 3), ("lbf", "ippo", 3), ("wolfpack", "gpl-q", 3), ("wolfpack", "ippo", 3), ("lbf", "gpl-q", 1),
    ]  # fmt: skip
    assert len(planned) == 8
    assert planned[0].folder == tmp_path / "runs/lbf/gpl-q/seed-3"


def test_a_table_of_runs_changes_what_the_top_says(tmp_path):
    wide = {"algorithm.network.width": 9, "task.horizon": 7}
    blocks = [{}, {"tasks": ["lbf"], "steps": 6.4e6, "name": "wide", "set": wide}]
    first, second = read_plan(write_plan(tmp_path, runs=blocks))
    assert (first.settings.steps, second.settings.steps) == (320, 6_400_000)
    assert second.folder == tmp_path / "runs/lbf/wide/seed-0"
    config = second.config
    assert (config["learner"]["network"]["width"], config["learner"]["envs"], config["task"]["horizon"]) == (9, 4, 7)
    assert first.config["learner"]["network"]["width"] == 4


def test_an_algorithm_is_planned_with_its_settings_for_the_task_and_with_the_plans(tmp_path):
    changes = {"algorithm.encoder_width": 9}
    plan = write_plan(
        tmp_path, tasks=["lbf-released", "fortattack-released"], algorithms=["gpl-q-released"], set=changes
    )
    grid, fort = (run.config["learner"] for run in read_plan(plan))
    assert (grid["hidden"], fort["hidden"]) == (100, 128)
    assert grid["encoder_width"] == fort["encoder_width"] == 9


def test_a_run_that_stands_for_a_longer_one_has_a_faster_target_network(tmp_path):
    blocks = [{}, {"name": "short", "compressed_from": 3_200}]
    plain, short = read_plan(write_plan(tmp_path, algorithms=["gpl-q"], set={}, runs=blocks))
    assert (plain.config["learner"]["target_rate"], short.config["learner"]["target_rate"]) == (0.001, 0.01)


def test_the_shipped_plan_is_the_papers_comparison():
    planned = read_plan(PLANS / "full-observability.toml")
    assert len(planned) == 8 * 3 * 3
    assert {run.settings.steps for run in planned if run.task == "fortattack-released"} == {4_000_000}
    assert all(run.settings.steps == 20 * (run.settings.checkpoint_every or 0) for run in planned)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"step": 5}, "Did you mean 'steps'"),
        ({"tasks": "lbf"}, "'tasks' must be a list of names; got 'lbf'"),
        ({"seeds": 3}, "'seeds' must be a list of whole numbers; got 3"),
        ({"steps": "many"}, "'steps' must be a whole number"),
        ({"out": None}, "does not say 'out'"),
        ({"set": {"envs": 3}}, "'set' must be a table of settings"),
        ({"set": {"algorithm.evns": 3}}, "There is no setting 'algorithm.evns'"),
        ({"set": {"algorithm.network.width": 0}}, "SetNetworks's width must be positive"),
        ({"algorithms": ["ipo"]}, "Did you mean 'ippo'"),
        ({"tasks": ["probe-constnat"]}, "Did you mean 'probe-constant'"),
        ({"runs": [{}, {}]}, "plans two runs in"),
        ({"import": "my_worlds"}, "'import' must be a list of modules, at the top; got 'my_worlds'"),
        ({"import": ["my_wordls"]}, "There is no module 'my_wordls'"),
        ({"runs": [{"import": ["my_worlds"]}]}, "a key 'import' that plans do not know here"),
        ({"tasks": ["my_worlds:maze"]}, "my_worlds:maze is used here"),
        ({"runs": [{"stesp": 1}]}, "Did you mean 'steps'"),
    ],
)
def test_a_mistake_in_a_plan_gets_one_sentence_before_anything_runs(tmp_path, capsys, keys, sentence):
    assert run(["plan", str(write_plan(tmp_path, **keys))]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_file_that_is_no_plan_is_named(tmp_path):
    (tmp_path / "x.toml").write_text("steps = = 3")
    with pytest.raises(UserError, match=r"x\.toml is no plan"):
        read_plan(tmp_path / "x.toml")
    with pytest.raises(UserError, match="Cannot read the plan"):
        read_plan(tmp_path / "y.toml")


def test_finished_runs_are_skipped_begun_ones_resumed_and_the_rest_started(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    path = write_plan(tmp_path, seeds=[0, 1, 2, 3])
    planned = read_plan(path)
    for one, step in zip(planned, (320, 160, None), strict=False):
        one.begin()
        if step:
            folder = RunFolder.open(one.folder)
            save_tree(folder.checkpoint(step), {}, {"kind": "policy", "step": step, "run": folder.coverage()})
    assert list(map(what_to_do, planned)) == ["finished", "resume from step 160", "resume", "start"]
    assert unfinished(planned) == planned[1:]
    assert run(["plan", str(path), "--dry-run"]) == 0
    assert "3 of 4 runs to do, 800 steps" in capsys.readouterr().out
    assert not planned[3].folder.exists()


def test_a_run_that_was_begun_with_other_settings_is_not_taken_for_the_planned_one(tmp_path):
    read_plan(write_plan(tmp_path))[0].begin()
    (other,) = read_plan(write_plan(tmp_path, steps=640, set=SMALL | {"algorithm.network.width": 8}))
    with pytest.raises(UserError, match=r"other settings than planned: learner\.network\.width 4, settings\.steps 320"):
        other.check()


def test_more_processes_than_cores_are_refused(tmp_path, capsys):
    assert run(["plan", str(write_plan(tmp_path)), "--workers", "1000"]) == 2
    assert "--workers must lie between 1 and" in capsys.readouterr().err


def start(command: str, path: Path, users_env: dict[str, str]) -> subprocess.Popen[str]:
    # A background job inherits an ignored Ctrl-C; whoever sits at a terminal does not.
    heed = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-c", heed, sys.executable, "-m", "openteam", command, str(path)]
    return subprocess.Popen(
        words, env=users_env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def test_a_plan_survives_ctrl_c_and_a_run_that_fails_and_a_worker_goes_on_with_it(tmp_path, users_env):
    path = write_plan(tmp_path, seeds=[0, 1], steps=64_000, checkpoint_every=32_000)
    good, damaged = read_plan(path)
    damaged.begin()
    (damaged.folder / "state.safetensors").write_bytes(b"\0" * 100)
    process = start("plan", path, users_env)
    rows = good.folder / "train.jsonl"
    while process.poll() is None and (not rows.exists() or rows.read_bytes().count(b"\n") < 2):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everybody
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert f"nothing is lost. To go on: openteam plan {path}" in errors
    assert "Traceback" not in errors
    header = read_header(good.folder / "state.safetensors")
    assert 0 < header["updates"] < 64_000 / 16  # written when it was told to stop
    kept = (good.folder / "train.jsonl").read_text().splitlines()[: header["run"]["rows"]["train.jsonl"]["rows"]]
    assert kept

    process = start("work", path, users_env)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert f"1 of 2 runs failed, the others are finished. {damaged.folder}:" in errors
    assert "state.safetensors is damaged" in errors
    assert good.finished
    rows = (good.folder / "train.jsonl").read_text().splitlines()
    assert rows[: len(kept)] == kept  # resumed, not begun again: each row holds its own time
