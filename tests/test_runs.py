"""Whole runs on a probe: the same seed gives the same files, however often a run is stopped."""

import dataclasses
import inspect
import json
import random
import signal
import subprocess
import sys
import threading
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import openteam
from openteam.errors import UserError
from openteam.storage.config import from_json
from openteam.storage.run_folder import RunFolder
from openteam.training import driver
from openteam.training.driver import create_run, run_folders
from openteam.training.program import Program
from openteam.training.settings import Settings
from openteam.training.spec import RunSpec

SIZES = {
    "envs": 4, "encoder-width": 8, "hidden": 8, "type-size": 4, "head.width": 8, "head.pairwise.rank": 2,
    "agent-model.width": 4, "agent-model.embedding": 4, "agent-model.readout-width": 4,
}  # fmt: skip
FLAGS = [word for name, value in SIZES.items() for word in (f"--algorithm.{name}", str(value))]
CHUNK = 16  # 4 environments, an update every 4 steps
STEPS, EVERY = 32_000, 8_000  # long enough to be hit by a signal while it trains


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "openteam", *words]


def train_words(out, *more: str) -> list[str]:
    words = ["--steps", str(STEPS), "--checkpoint-every", str(EVERY), "--evaluation-episodes", "8"]
    return command("train", "probe-match", "gpl-q", *FLAGS, *words, "--out", str(out), *more)


def checkpoint_bytes(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in RunFolder.open(folder).checkpoints}


def rows_without_time(folder) -> list:
    run = RunFolder.open(folder)
    return [{k: v for k, v in row.items() if k != "seconds"} for row in run.rows("train.jsonl")] + run.rows(
        "episodes.jsonl"
    )


@pytest.fixture(scope="module", autouse=True)
def empty_folder(tmp_path_factory):
    """Commands are given where there are no runs to forecast the time of others from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("empty"))
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, users_env):
    out = tmp_path_factory.mktemp("runs") / "undisturbed"
    subprocess.run(train_words(out), env=users_env, check=True, capture_output=True)
    return out


def started(words: list[str], out, users_env) -> subprocess.Popen[str]:
    """A command that has just written a row of training, later than any that was there before."""
    rows = out / "train.jsonl"
    before = rows.stat().st_size if rows.exists() else 0
    # A background job inherits an ignored Ctrl-C; whoever sits at a terminal does not.
    heed = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-c", heed, *words]
    process = subprocess.Popen(words, env=users_env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while process.poll() is None and (not rows.exists() or rows.stat().st_size <= before):
        time.sleep(0.005)
    return process


def test_a_run_that_is_killed_interrupted_and_resumed_ends_in_the_same_files(undisturbed, tmp_path, users_env):
    out = tmp_path / "disturbed"
    killed = started(train_words(out), out, users_env)
    time.sleep(random.Random(0).uniform(0, 0.15))
    killed.kill()
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL

    interrupted = started(command("resume", str(out)), out, users_env)
    interrupted.send_signal(signal.SIGINT)
    _, errors = interrupted.communicate(timeout=120)
    assert interrupted.returncode == 2, errors
    assert f"openteam resume {out}" in errors
    assert "Traceback" not in errors

    subprocess.run(command("resume", str(out)), env=users_env, check=True, capture_output=True)
    assert checkpoint_bytes(out) == checkpoint_bytes(undisturbed)
    assert (out / "state.safetensors").read_bytes() == (undisturbed / "state.safetensors").read_bytes()
    assert rows_without_time(out) == rows_without_time(undisturbed)


def test_several_seeds_in_processes_equal_single_runs_and_another_seed_gives_another_result(
    undisturbed, tmp_path, users_env
):
    subprocess.run(train_words(tmp_path / "seeds", "--seeds", "2"), env=users_env, check=True, capture_output=True)
    alone, ours, other = map(checkpoint_bytes, (undisturbed, tmp_path / "seeds/seed-0", tmp_path / "seeds/seed-1"))
    assert ours == alone
    assert other.keys() == alone.keys()
    assert all(other[name] != alone[name] for name in alone)


def test_a_finished_run_that_is_resumed_changes_nothing(undisturbed, users_env):
    before = checkpoint_bytes(undisturbed), rows_without_time(undisturbed)
    subprocess.run(command("resume", str(undisturbed)), env=users_env, check=True, capture_output=True)
    assert (checkpoint_bytes(undisturbed), rows_without_time(undisturbed)) == before


def test_a_run_folder_explains_itself(undisturbed):
    config = json.loads((undisturbed / "config.json").read_text())
    about = json.loads((undisturbed / "about.json").read_text())
    assert config["task"]["name"] == "probe-match"
    assert config["learner"]["class"] == "openteam:GPL"
    assert config["learner"]["hidden"] == 8
    assert config["settings"]["steps"] == STEPS
    assert about["versions"]["jax"]
    assert "probe-match" in about["command"]
    rows = RunFolder.open(undisturbed).rows("episodes.jsonl")
    assert {row["step"] for row in rows} == set(range(0, STEPS + 1, EVERY))
    assert len(rows) == 8 * (STEPS // EVERY + 1)


def learner() -> openteam.GPL:
    """The same as ``SIZES`` say."""
    return openteam.GPL(
        envs=4, encoder_width=8, hidden=8, type_size=4, agent_model=openteam.AgentModelSizes(4, 4, 4),
        head=openteam.CoordinationGraph(openteam.PerEdge(2), width=8), forgets_unseen=True,
    )  # fmt: skip


IN_PYTHON = f"""
import sys, openteam
from openteam.threads import use_one_thread
use_one_thread()  # as the command does
{inspect.getsource(learner)}
task = openteam.make("probe-match")
run = openteam.train(task, learner(), steps={STEPS}, checkpoint_every={EVERY}, evaluation_episodes=8, out=sys.argv[1])
played, loaded = (openteam.evaluate(policy, task, episodes=64) for policy in (run.policy, openteam.load(sys.argv[1])))
assert (played.returns == loaded.returns).all()
"""


def test_python_and_command_line_are_the_same(undisturbed, tmp_path, users_env):
    words = [sys.executable, "-c", IN_PYTHON, str(tmp_path / "python")]
    subprocess.run(words, env=users_env, check=True, capture_output=True)
    assert checkpoint_bytes(tmp_path / "python") == checkpoint_bytes(undisturbed)
    assert rows_without_time(tmp_path / "python") == rows_without_time(undisturbed)


def new_run(path, settings: Settings, seed: int = 0):
    create_run(openteam.make("probe-match"), learner(), settings, seed, path)
    return path


def interrupt(*_):
    raise KeyboardInterrupt


def test_a_run_interrupted_before_its_first_checkpoint_begins_again(tmp_path, monkeypatch):
    run = new_run(tmp_path / "run", Settings(240, 120, 4))
    with monkeypatch.context() as patch:
        patch.setattr(Program, "advance", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_folders([run])
    folder = RunFolder.open(run)
    assert not folder.state.exists()
    run_folders([run])
    assert min(row["step"] for row in folder.rows("episodes.jsonl")) == 0
    assert folder.state.exists()


def test_the_first_evaluation_is_the_same_beside_training_and_alone(tmp_path, monkeypatch):
    threads = []

    def evaluate(*given):
        threads.append(threading.current_thread() is threading.main_thread())
        return evaluate_checkpoint(*given)

    evaluate_checkpoint = driver.evaluate_checkpoint
    monkeypatch.setattr(driver, "evaluate_checkpoint", evaluate)
    for cores in (1, 2):
        monkeypatch.setattr(driver, "usable_cores", lambda cores=cores: cores)
        run_folders([new_run(tmp_path / str(cores), Settings(240, 240, 4))])
    assert threads == [True, True, False, True]  # at the start and at the end of both
    assert rows_without_time(tmp_path / "1") == rows_without_time(tmp_path / "2")
    assert checkpoint_bytes(tmp_path / "1") == checkpoint_bytes(tmp_path / "2")


def the_second_time(function):
    """The function, interrupted when it is called for the second time."""
    calls = []

    def called(*given):
        calls.append(given)
        return interrupt() if len(calls) == 2 else function(*given)

    return called


def when_true(function):
    """The function, interrupted the first time that its answer is yes."""
    answers = []

    def called(*given):
        answers.append(function(*given))
        return interrupt() if answers[-1] and sum(answers) == 1 else answers[-1]

    return called


MOMENTS = {"evaluate_checkpoint": (driver, the_second_time), "write_states": (driver, the_second_time),
           "checkpoint_due": (RunSpec, when_true)}  # fmt: skip


@pytest.mark.parametrize("where", MOMENTS)
def test_an_interrupt_at_a_checkpoint_leaves_the_last_state_and_the_checkpoint_is_written_later(
    where, tmp_path, monkeypatch
):
    whole, cut = (new_run(tmp_path / name, Settings(240, 120, 4)) for name in ("whole", "cut"))
    run_folders([whole])
    owner, interrupted = MOMENTS[where]
    with monkeypatch.context() as patch:
        patch.setattr(owner, where, interrupted(getattr(owner, where)))
        with pytest.raises(KeyboardInterrupt):
            run_folders([cut])
    run_folders([cut])
    assert checkpoint_bytes(cut) == checkpoint_bytes(whole)
    assert rows_without_time(cut) == rows_without_time(whole)


def test_seeds_batched_by_vmap_learn_like_single_runs(tmp_path):
    settings = Settings(240, 120, 4)
    batched = [new_run(tmp_path / f"batched-{seed}", settings, seed) for seed in (0, 1)]
    single = [new_run(tmp_path / f"single-{seed}", settings, seed) for seed in (0, 1)]
    with jax.debug_key_reuse(False):  # the checker takes the batched loop's two passes for a reuse
        run_folders(batched)
    for ours, alone in zip(batched, single, strict=True):
        run_folders([alone])
        for a, b in zip(*(jax.tree.leaves(openteam.load(path).model) for path in (ours, alone)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_number_that_is_not_finite_stops_the_run_and_names_the_step(tmp_path, monkeypatch):
    run = new_run(tmp_path / "run", Settings(480, 160, 4))
    advance, calls = Program.advance, []

    def spoilt(program, carry, count):
        """After the first row of metrics, one number of the model is not a number."""
        calls.append(count)
        if len(calls) == 3:
            biases = lambda c: jax.tree.leaves(c.train.model)[0]  # noqa: E731
            carry = eqx.tree_at(biases, carry, jnp.full_like(biases(carry), jnp.nan))
        return advance(program, carry, count)

    monkeypatch.setattr(Program, "advance", spoilt)
    with pytest.raises(UserError, match=rf"stopped being finite at step {2 * CHUNK}\. "):
        run_folders([run])
    assert RunFolder.open(run).state.exists()
    assert len(RunFolder.open(run).checkpoints) == 1


def test_a_trained_run_can_be_a_teammate(undisturbed, tmp_path):
    task = openteam.make("probe-match")
    pool = openteam.Pool((*task.pool.families, openteam.Trained((str(undisturbed),))))
    task = dataclasses.replace(task, pool=pool)
    assert task.pool.names == ("always-0", "always-1", "undisturbed")
    run = openteam.train(task, learner(), steps=64, evaluation_episodes=4, out=tmp_path / "run")
    family = run.folder.config["task"]["pool"]["families"][1]
    assert family["runs"] == ["teammates/undisturbed.safetensors"]
    copy = tmp_path / "run/teammates/undisturbed.safetensors"
    assert copy.read_bytes() == RunFolder.open(undisturbed).checkpoints[-1].read_bytes()
    assert from_json(family, run.folder.path).digest == family["sha256"]
    copy.write_bytes(RunFolder.open(undisturbed).checkpoints[0].read_bytes())
    with pytest.raises(UserError, match=f"numbers of openteam:Trained .* sha256 was {family['sha256'][:12]} and is"):
        run.folder.build("task")
    with pytest.raises(UserError, match=r"names a file outside itself, '.*undisturbed', which is not read"):
        from_json(family | {"runs": [str(undisturbed)]}, run.folder.path)


def test_training_is_a_pure_function_of_its_pieces_not_of_where_it_is_cut(tmp_path):
    spec = RunSpec(openteam.make("probe-match"), learner(), Settings(640, 640, 4), 0)
    program = Program([spec])
    carry = program.start()
    at_once, _ = program.advance(carry, 10)
    in_two, _ = program.advance(program.advance(carry, 3)[0], 7)
    assert eqx.tree_equal(at_once, in_two)
