"""Hundreds of damaged run folders through everything that reads runs: a sentence, or the very same result.

Nothing is trained or played here but the runs that are damaged. Where a command would begin to compute, it is stopped,
and what it would have computed with is compared with what the undamaged run gives.
"""

from __future__ import annotations

import inspect
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import equinox as eqx
import jax
import pytest

import openteam
from openteam.analysis.compare import compare, read_run
from openteam.analysis.reconstruction import logged
from openteam.cli import run
from openteam.commands import record
from openteam.errors import UserError
from openteam.probes import remember_teammate
from openteam.rollout import episodes
from openteam.storage import policies, run_folder
from openteam.storage.archive import archive
from openteam.storage.config import from_json, to_json
from openteam.storage.lease import is_lease
from openteam.storage.policies import load
from openteam.storage.run_folder import RunFolder
from openteam.storage.seal import SEAL
from openteam.training import program, spec
from openteam.training.driver import Progress, create_run, run_folders
from openteam.training.loop import start_carry
from openteam.training.program import Program
from openteam.training.settings import Settings
from tests.damages import ALL

LEARNER = openteam.GPL(
    envs=2, update_every=2, encoder_width=4, hidden=4, type_size=4, agent_model=openteam.AgentModelSizes(4, 4, 4),
    head=openteam.CoordinationGraph(openteam.Factored(2), width=4),
)  # fmt: skip
TASK, SETTINGS = remember_teammate(), Settings(steps=16, checkpoint_every=8, evaluation_episodes=2)


class Stopped(Exception):
    """A command has read everything and was about to compute with these values."""


class Runs:
    """A finished run, the same halfway and archived, another seed, one with a trained teammate, a stranger's file."""

    def __init__(self, path: Path):
        self.path = path
        self.finished, self.halfway, self.other = path / "finished", path / "halfway", path / "other"
        self.with_teammate, self.victim = path / "with-teammate", path / "victim.txt"
        self.archived = path / "archived"

    def make(self) -> None:
        task = TASK
        create_run(task, LEARNER, SETTINGS, 0, self.finished)
        with pytest.raises(Stopped):
            run_folders([self.finished], stop_in_the_middle)
        shutil.copytree(self.finished, self.halfway)
        run_folders([self.finished])
        shutil.copytree(self.finished, self.archived)
        archive(self.archived)
        create_run(task, LEARNER, SETTINGS, 1, self.other)
        run_folders([self.other])
        pool = openteam.Pool((*task.pool.families, openteam.Trained(str(self.other))))
        create_run(eqx.tree_at(lambda t: t.pool, task, pool), LEARNER, SETTINGS, 0, self.with_teammate)
        self.victim.write_text("worth keeping\n")


def stop_in_the_middle(progress: Progress) -> None:
    if progress.step == 12 and progress.evaluation is None:  # a row after the state of step 8
        raise Stopped


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Iterator[Runs]:
    runs = Runs(tmp_path_factory.mktemp("runs"))
    with pytest.MonkeyPatch.context() as patch, jax.debug_key_reuse(False):  # compiling costs more than running here
        patch.setattr(program, "start_one", inspect.unwrap(start_carry))
        runs.make()
    return runs


def readers(run: Path) -> dict[str, Callable[[], object]]:
    """What every command reads of a run, up to where it would compute."""
    return {
        "resume": lambda: run_folders([run]),
        "evaluate": lambda: (load(run), RunFolder.open(run).build("task")),
        "compare": lambda: (lambda reading: (reading.config, reading.returns))(read_run(run)),
        "beliefs": lambda: read_beliefs(run),
        "record": lambda: record.find_policy(str(run), TASK),
        "teammates": lambda: openteam.Trained(str(run)).stacked,
        "rows": lambda: RunFolder.open(run).rows_of_checkpoints("episodes.jsonl"),
    }


def read_beliefs(run: Path) -> list:
    comparison = compare([run])
    for sentence in comparison.left_out:
        raise UserError(sentence)
    return [list(logged(comparison.groups)), *map(load, RunFolder.open(run).checkpoints)]


def outcome(read: Callable[[], object]) -> object:
    """What is read, or about to be computed with; None after a sentence."""
    try:
        return read()
    except Stopped as stopped:
        return stopped.args
    except UserError:
        return None
    except Exception as error:
        return f"a traceback: {error!r}"


def content_of(folder: Path) -> dict[str, bytes]:
    """All files but leases, which change whenever somebody is at the run."""
    files = [path for path in folder.rglob("*") if path.is_file() and not is_lease(path.name)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def remembered(function: Callable) -> Callable:
    """The same function, which builds the same thing only once. What reads files is built every time."""
    built: dict[str, object] = {}

    def call(value, *more):
        text = json.dumps([to_json(value), *map(str, more[1:] if function is from_json else more)])
        if SEAL in text:
            return function(value, *more)
        if text not in built:
            built[text] = function(value, *more)
        return built[text]

    return call


@pytest.fixture
def stopped_before_computing(monkeypatch):
    def stop(*values, **_):
        raise Stopped(*jax.tree.leaves(values[1:] if isinstance(values[0], Program) else values))

    shapes: dict = {}

    def start_shapes(program: Program):
        """Found once for all: no damage that is accepted changes them."""
        if not shapes:
            shapes[0] = jax.eval_shape(lambda: start_carry(program.spec.task, program.spec.learner, jax.random.key(0)))
        return shapes[0]

    monkeypatch.setattr(Program, "start_shapes", start_shapes)
    monkeypatch.setattr(Program, "start", stop)
    monkeypatch.setattr(Program, "advance", stop)
    monkeypatch.setattr(episodes, "evaluate", stop)
    monkeypatch.setattr(policies, "model_shapes", remembered(policies.model_shapes))
    for module in (policies, run_folder, spec):
        monkeypatch.setattr(module, "from_json", remembered(from_json))


def test_there_are_enough_damages():
    assert len(ALL) >= 300
    assert len({(base, name) for base, name, _ in ALL}) == len(ALL)


@jax.debug_key_reuse(False)  # its check makes every call slow
def test_a_damaged_run_gives_a_sentence_or_the_same_result_and_nothing_is_written(
    runs, tmp_path, stopped_before_computing
):
    whole = {base: {name: outcome(read) for name, read in readers(getattr(runs, base)).items()} for base in
             ("finished", "archived", "halfway", "with_teammate")}  # fmt: skip
    assert all(value is not None for name, value in whole["halfway"].items())
    os.symlink(runs.path, tmp_path / "runs")
    outside, refused, wrong, chance = content_of(runs.path), 0, [], random.Random(0)
    for number, (base, name, damage) in enumerate(ALL):
        folder = tmp_path / "damaged"
        shutil.copytree(getattr(runs, base), folder)
        damage(folder, chance)
        before = content_of(folder)
        for place, (reader, read) in enumerate(readers(folder).items()):
            if place > 2 and number % 4 != place - 3:
                continue  # the first three read all that the others do
            found = outcome(read)
            refused += found is None
            if found is not None and not eqx.tree_equal(found, whole[base][reader]):
                wrong.append((base, name, reader, found if isinstance(found, str) else "accepted"))
        if content_of(folder) != before:
            wrong.append((base, name, "written to"))
        shutil.rmtree(folder)
    assert not wrong
    assert content_of(runs.path) == outside
    assert refused > len(ALL)


@pytest.mark.parametrize("chance", [random.Random(seed) for seed in range(2)], ids=range(2))
def test_commands_say_it_in_one_sentence(runs, tmp_path, chance, capsys, monkeypatch, stopped_before_computing):
    monkeypatch.chdir(tmp_path)  # nor are there committed runs to forecast a run's time from
    os.symlink(runs.path, tmp_path / "runs")
    for number, (base, name, damage) in enumerate(chance.sample(ALL, 6)):
        folder = str(tmp_path / f"damaged-{number}")
        shutil.copytree(getattr(runs, base), folder)
        damage(Path(folder), chance)
        for words in (
            ["resume", folder], ["evaluate", folder], ["compare", folder], ["beliefs", folder, "--logged"],
            ["record", "probe-remember-teammate", "--policy", folder, "--out", str(tmp_path / "x.gif")],
            ["train", "probe-match", "gpl-q", "--teammates", folder, "--out", str(tmp_path / "x")],
        ):  # fmt: skip
            try:
                code = run(words)
            except Stopped:
                code = 0
            errors = capsys.readouterr().err
            assert code == 0 or (code == 2 and errors.startswith("openteam: ")), (base, name, words, errors)
            assert not (tmp_path / "x").exists() or code == 0
            shutil.rmtree(tmp_path / "x", ignore_errors=True)


def test_a_reading_that_is_accepted_is_not_accepted_by_accident(runs, stopped_before_computing):
    """The comparison above can tell two runs apart."""
    for reader, read in readers(runs.finished).items():
        if reader != "resume":
            assert not eqx.tree_equal(outcome(read), outcome(readers(runs.other)[reader])), reader
