"""Every algorithm there is trains, goes on after a kill to the result of an unkilled run, and can be loaded."""

import dataclasses
import inspect
from typing import Any

import equinox as eqx
import jax
import pytest

import openteam
from openteam.algorithms.presets import ALGORITHMS, preset
from openteam.algorithms.task_kind import kind_of
from openteam.core.learner import AbstractLearner
from openteam.storage.checkpoint import read_header
from openteam.storage.run_folder import ROW_FILES, RunFolder
from openteam.training import program
from openteam.training.driver import Progress, Report, create_run, run_folders
from openteam.training.loop import start_carry
from openteam.training.settings import Settings

TASK = openteam.make("probe-match")
CHUNK = 2 * 2
SMALL = {"envs": 2, "update_every": 2, "replay": 3 * CHUNK, "minibatches": 2}
SETTINGS = Settings(steps=4 * CHUNK, checkpoint_every=2 * CHUNK, evaluation_episodes=2)


def tiny(settings: Any) -> Any:
    """The same algorithm with no whole number above four: fewer units, heads, samples, steps of warm-up."""
    values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings) if field.init}
    sizes = {name: SMALL.get(name, min(4, value)) for name, value in values.items() if type(value) is int}
    parts = {name: tiny(value) for name, value in values.items() if dataclasses.is_dataclass(value)}
    return dataclasses.replace(settings, **sizes, **parts)


@pytest.fixture(autouse=True)
def begun_step_by_step(monkeypatch) -> None:
    """The beginning of a run is not compiled as one program: here it is run once per algorithm."""
    monkeypatch.setattr(program, "start_one", inspect.unwrap(start_carry))


class Killed(Exception):
    """Nothing in the package catches it, so nothing more is written."""


def killed_at(update: int, *, evaluated: bool) -> Report:
    """Dies when a row is on disk; or when a checkpoint is, but not yet the state that belongs to it."""

    def report(progress: Progress) -> None:
        if (progress.step, progress.evaluation is not None) == (update * CHUNK, evaluated):
            raise Killed

    return report


def checkpoint_bytes(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in RunFolder.open(folder).checkpoints}


def rows_without_time(folder) -> list:
    rows = (row for name in ROW_FILES for row in RunFolder.open(folder).rows(name))
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def updates_ahead(folder) -> tuple[int, int]:
    """How many updates the rows of training, and the last checkpoint, are ahead of the state to go on from."""
    run = RunFolder.open(folder)
    steps = run.rows("train.jsonl")[-1]["step"], read_header(run.checkpoints[-1])["step"]
    rows, checkpoint = (step // CHUNK - read_header(run.state)["updates"] for step in steps)
    return rows, checkpoint


PARTS_OF_OTHERS = (
    "gpl-spi", "gpl-q-factored", "gpl-q-remembers", "ql", "gnn", "ciao-c", "vae-gpl", "pf-gpl-1", "pf-gpl-5",
    "ppo-large-batches", "maddpg-separate",
)  # fmt: skip
NAMES = [name for name in ALGORITHMS if name not in PARTS_OF_OTHERS and not name.endswith(("-paper", "-released"))]
"""All but those that keep nothing, and learn nothing, that another one here does not."""


@pytest.fixture(params=NAMES)
def learner(request) -> AbstractLearner:
    return tiny(preset(request.param, kind_of(TASK)))


@jax.debug_key_reuse(False)  # its check makes every call slow
def test_a_killed_run_ends_as_an_unkilled_one_and_is_loaded_as_it_was_trained(learner, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        create_run(TASK, learner, SETTINGS, 0, folder)
    run_folders([whole])
    with pytest.raises(Killed):
        run_folders([killed], killed_at(3, evaluated=False))
    assert updates_ahead(killed) == (1, 0)
    with pytest.raises(Killed):
        run_folders([killed], killed_at(4, evaluated=True))
    assert updates_ahead(killed) == (2, 2)
    run_folders([killed])
    assert checkpoint_bytes(killed) == checkpoint_bytes(whole)
    assert (killed / "state.safetensors").read_bytes() == (whole / "state.safetensors").read_bytes()
    assert rows_without_time(killed) == rows_without_time(whole)

    trained, loaded = openteam.load(whole), openteam.load(killed)
    assert eqx.tree_equal(loaded, trained)
    assert not eqx.tree_equal(loaded, openteam.load(RunFolder.open(whole).checkpoints[0]))
    played = [openteam.evaluate(policy, TASK, episodes=2).returns.tolist() for policy in (trained, loaded)]
    assert played[0] == played[1]
