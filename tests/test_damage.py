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
from safetensors import safe_open
from safetensors.numpy import load_file, save

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
from openteam.storage.columns import COLUMNS
from openteam.storage.config import from_json, to_json
from openteam.storage.lease import is_lease
from openteam.storage.policies import load
from openteam.storage.rows import ROW_FILES
from openteam.storage.run_folder import RunFolder
from openteam.storage.seal import SEAL, sealed
from openteam.training import program, spec
from openteam.training.driver import Progress, create_run, run_folders
from openteam.training.loop import start_carry
from openteam.training.program import Program
from openteam.training.settings import Settings

LEARNER = openteam.GPL(
    envs=2, update_every=2, encoder_width=4, hidden=4, type_size=4, agent_model=openteam.AgentModelSizes(4, 4, 4),
    head=openteam.CoordinationGraph(openteam.Factored(2), width=4),
)  # fmt: skip
TASK, SETTINGS = remember_teammate(), Settings(steps=16, checkpoint_every=8, evaluation_episodes=2)
LAST, MIDDLE = "checkpoints/000000000016.safetensors", "checkpoints/000000000008.safetensors"
STATE = "state.safetensors"
FILES = ("config.json", "about.json", *ROW_FILES, MIDDLE, LAST, STATE)

Damage = Callable[[Path, random.Random], object]


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


def flip(name: str) -> Damage:
    def damage(run: Path, chance: random.Random) -> None:
        content = bytearray((run / name).read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (run / name).write_bytes(content)

    return damage


def truncate(name: str) -> Damage:
    def damage(run: Path, chance: random.Random) -> None:
        os.truncate(run / name, chance.randrange((run / name).stat().st_size))

    return damage


def replace(name: str, content: bytes) -> Damage:
    return lambda run, _: (run / name).write_bytes(content)


def take(source: str, name: str) -> Damage:
    """A file out of one of the runs in the place of another."""
    return lambda run, _: shutil.copyfile(run.parent / "runs" / source, run / name)


def lines(name: str, change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    def damage(run: Path, _: random.Random) -> None:
        (run / name).write_bytes(b"".join(change((run / name).read_bytes().splitlines(keepends=True))))

    return damage


def with_value(content, path: tuple, value):
    """The same JSON with another value somewhere."""
    if not path:
        return value
    if isinstance(content, list):
        return [with_value(item, path[1:], value) if n == path[0] else item for n, item in enumerate(content)]
    return content | {path[0]: with_value(content.get(path[0]), path[1:], value)}


def leaves(content, path: tuple = ()) -> Iterator[tuple]:
    """Every place in a JSON value."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, item in items:
        yield from leaves(item, (*path, name))


def edit_config(path: tuple | None, value, *, reseal: bool) -> Damage:
    """Another value at a place, or at a random one; the file may be given a digest that fits."""

    def damage(run: Path, chance: random.Random) -> None:
        content = json.loads((run / "config.json").read_text())
        del content[SEAL]
        place = path if path is not None else chance.choice(list(leaves(content))[1:])
        changed = with_value(content, place, value)
        text = json.dumps(sealed(changed) if reseal else changed | {SEAL: "0" * 64})
        (run / "config.json").write_text(text)

    return damage


def edit_header(name: str, change: Callable[[dict], object]) -> Damage:
    """A header that was edited and given a digest that fits, by somebody who knows the format."""

    def damage(run: Path, _: random.Random) -> None:
        with safe_open(run / name, "numpy") as file:
            header = json.loads(file.metadata()["openteam"])
        del header[SEAL]
        changed = change(header)
        header = changed if isinstance(changed, dict) else header
        (run / name).write_bytes(save(load_file(run / name), {"openteam": json.dumps(sealed(header))}))

    return damage


WRONG = [None, True, -1, 10**9, 1e400, float("nan"), "", "../../victim.txt", [], [[]], {}, {"class": ["os"]}]
CLASSES = [
    "os:system",
    "subprocess:Popen",
    "openteam:Nothing",
    "nowhere:Nothing",
    "",
    ":",
    "builtins:dict",
    3,
    None,
    [],
]
PATHS = ["/etc/passwd", "../finished", "../../victim.txt", "teammates/../../victim.safetensors", "..", "\0.safetensors"]


def damages() -> Iterator[tuple[str, str, Damage]]:
    """The run that is damaged, what is done to it, and how."""
    for base in ("finished", "halfway"):
        for name in (name for name in FILES if base == "finished" or name != LAST):
            for number in range(16 if name == "config.json" else 5):
                yield base, f"a bit of {name} {number}", flip(name)
            yield base, f"{name} cut", truncate(name)
            yield base, f"{name} emptied", replace(name, b"")
            yield base, f"{name} of another seed", take(f"other/{name}", name)
            yield base, f"{name} not UTF-8", replace(name, b"\xff\xfe\x00garbage\n")
        for path in (("seed",), ("settings", "steps"), ("settings",), ("task", "name"), ("learner", "envs"), None):
            for reseal in (False, True):
                value = WRONG[len(str(path)) % len(WRONG)]
                yield base, f"config {path} {value} {reseal}", edit_config(path, value, reseal=reseal)
        for name in ROW_FILES:
            for number, change in enumerate(
                (lambda rows: rows[1:], lambda rows: rows[:1], lambda rows: rows[::-1], lambda rows: [*rows[:1], *rows],
                 lambda rows: [b"[]\n", *rows[1:]], lambda rows: [b'{"step": "0"}\n', *rows[1:]], lambda rows: [],
                 lambda rows: [rows[0].replace(b"0", b"NaN"), *rows[1:]], lambda rows: [b"{" * 9999 + b"\n", *rows])
            ):  # fmt: skip
                yield base, f"rows of {name} {number}", lines(name, change)
    yield from crafted()


def crafted() -> Iterator[tuple[str, str, Damage]]:
    """Files with digests that fit, and with content that does not."""

    def state(change: Callable[[dict], object]) -> Damage:
        return edit_header(STATE, change)

    def policy(change: Callable[[dict], object]) -> Damage:
        return edit_header(LAST, change)

    for value in WRONG:
        yield "halfway", f"random setting {value}", edit_config(None, value, reseal=True)
        for field in ("updates", "checkpoint", "run", "seed"):
            yield "halfway", f"state {field} {value}", state(lambda header, f=field, v=value: {**header, f: v})
        for field in ("step", "spec", "learner", "run", "kind"):
            yield "finished", f"policy {field} {value}", policy(lambda header, f=field, v=value: {**header, f: v})
    for name in CLASSES:
        yield "with_teammate", f"class {name}", edit_config(("task", "world", "class"), name, reseal=True)
        yield "with_teammate", f"learner {name}", edit_config(("learner", "class"), name, reseal=True)
        yield "finished", f"policy {name}", policy(lambda header, n=name: header["learner"].update({"class": n}))
    for path in PATHS:
        field = ("task", "pool", "families", 1, "runs", 0)
        learned = {"class": "openteam:Learned", "weights": path, "names": []}
        rows = {path: {"rows": 0, "sha256": ""}}
        yield "with_teammate", f"teammate {path}", edit_config(field, path, reseal=True)
        yield "with_teammate", f"learned {path}", edit_config(field[:-2], learned, reseal=True)
        yield "halfway", f"rows {path}", state(lambda header, r=rows: header["run"].update({"rows": r}))
        yield "halfway", f"more rows {path}", state(lambda header, r=rows: header["run"]["rows"].update(r))
    yield from moved()


def moved() -> Iterator[tuple[str, str, Damage]]:
    """Files that are missing, have another name, or are another file of the same run or of its neighbour."""
    copy = "teammates/other.safetensors"
    yield "with_teammate", "teammate bit", flip(copy)
    yield "with_teammate", "teammate earlier", take(f"other/{MIDDLE}", copy)
    yield "with_teammate", "teammate gone", lambda run, _: (run / copy).unlink()
    for name in ("9abc", "٣", "-1", "1e3", "16", "000000000017", ""):
        target = f"checkpoints/{name}.safetensors"
        yield "finished", f"named {name}", lambda run, _, t=target: (run / LAST).rename(run / t)
    yield "finished", "checkpoints swapped", lambda run, _: (run / MIDDLE).replace(run / LAST)
    yield "finished", "last checkpoint gone", lambda run, _: (run / LAST).unlink()
    yield "finished", "rows gone", lambda run, _: (run / "episodes.jsonl").unlink()
    for number in range(8):
        yield "archived", f"a bit of columns {number}", flip(COLUMNS)
    yield "archived", "columns cut", truncate(COLUMNS)
    yield "archived", "columns emptied", replace(COLUMNS, b"")
    yield "archived", "columns gone", lambda run, _: (run / COLUMNS).unlink()
    yield "archived", "last checkpoint gone", lambda run, _: (run / LAST).unlink()
    yield "archived", "last checkpoint of another seed", take(f"other/{LAST}", LAST)
    yield "archived", "state of another moment", take(f"halfway/{STATE}", STATE)
    yield "halfway", "state gone", lambda run, _: (run / STATE).unlink()
    yield "halfway", "state ahead", take(f"finished/{STATE}", STATE)


ALL = list(damages())


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
