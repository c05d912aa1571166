"""A tiny run whose programs are compiled once, ways to disturb it, and what is on disk of it."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path

import jax
import pytest

import openteam
from openteam.compile_cache import once_jit
from openteam.errors import UserError
from openteam.rollout import episodes
from openteam.storage.lease import is_lease
from openteam.training import program
from openteam.training.driver import Progress, create_run, run_folders
from openteam.training.loop import advance, start_carry
from openteam.training.settings import Settings

PLAY, BEGIN, ADVANCE = once_jit(inspect.unwrap(episodes.play)), inspect.unwrap(start_carry), once_jit(advance)
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


@pytest.fixture(scope="session")
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


def kill() -> None:
    raise Killed


def interrupt() -> None:
    raise KeyboardInterrupt
