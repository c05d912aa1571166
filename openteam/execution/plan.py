"""A plan: a small file that lists runs, as products of tasks, algorithms and seeds.

Keys at the top hold for all runs. Every table under ``runs`` is a product of its own, in which keys may be given again.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from openteam.errors import UserError
from openteam.host.task import HostTask
from openteam.registry import make_algorithm, make_any, short_name
from openteam.storage.changes import describe, differences, with_change
from openteam.storage.config import from_json, to_json
from openteam.storage.creation import check_free, is_free
from openteam.storage.packing import packed
from openteam.storage.run_folder import RunFolder
from openteam.task import Task
from openteam.training.compression import compressed
from openteam.training.settings import Settings

KEYS: dict[str, str] = {
    "tasks": "a list of names",
    "algorithms": "a list of names",
    "seeds": "a list of whole numbers",
    "steps": "a whole number",
    "checkpoint_every": "a whole number",
    "evaluation_episodes": "a whole number",
    "compressed_from": "a whole number, the steps of the longer run that each of these stands for",
    "set": "a table of settings, as in {'algorithm.envs' = 64}",
    "name": "a word that replaces the algorithm's name in folders",
    "out": "a folder",
    "import": "a list of modules, at the top",
    "runs": "a list of tables",
}


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One line of a plan: all that a run needs, by name."""

    task: str
    algorithm: str
    seed: int
    settings: Settings
    folder: Path
    changes: tuple[tuple[str, Any], ...] = ()
    """Settings of task and algorithm other than their own, by dotted name."""
    compressed_from: int | None = None
    """The steps of the longer run that this one stands for: its target network moves faster (``compressed``)."""

    @property
    def given(self) -> dict[str, Any]:
        """Its configuration, with files as the plan's tasks name them."""
        return {
            "task": _task(self.task, self.changes)[1],
            "learner": self.learner,
            "settings": self.settings.config,
            "seed": self.seed,
        }

    @property
    def learner(self) -> Any:
        """The algorithm's configuration."""
        config = _learner(self.algorithm, self.task, self.changes)
        if self.compressed_from is None:
            return config
        return to_json(compressed(from_json(config), self.settings.steps, self.compressed_from))

    @property
    def config(self) -> dict[str, Any]:
        """What its config.json says."""
        return packed(self.given)[0]

    @property
    def step(self) -> int | None:
        """The last checkpoint on disk; None before the first."""
        found = RunFolder(self.folder).checkpoints
        return int(found[-1].stem) if found else None

    @property
    def exists(self) -> bool:
        return (self.folder / "config.json").exists()

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; a damaged run is begun, and says then what is wrong with it."""
        try:
            return self.exists and RunFolder(self.folder).finished
        except UserError:
            return False

    def check(self) -> None:
        """Raise unless it can be built and, if it exists, was begun with the settings that it is planned with."""
        planned = self.config
        if self.exists:
            other = differences(RunFolder.open(self.folder).config, planned)
            if other:
                raise UserError(
                    f"{self.folder} exists with other settings than planned: {describe(other)}. Choose another out or "
                    "name, or remove it."
                )
        elif not is_free(self.folder):
            raise UserError(f"{self.folder} exists, but is no run. Choose another out or name, or remove it.")

    def begin(self) -> None:
        """Make its folder, if there is none yet; several workers may try at once."""
        if not self.exists:
            check_free(self.folder)
            RunFolder.create_once(self.folder, self.given)


def read_plan(path: Path) -> list[PlannedRun]:
    """All runs of a plan file, first seeds first, so that there is something to compare early on."""
    plan = _parse(path)
    plan.pop("import", None)
    blocks = plan.pop("runs", [{}])
    if not _is_list_of(blocks, dict):
        raise UserError(f"{path}: 'runs' must be {KEYS['runs']}; got {blocks!r}.")
    planned = [run for block in blocks for run in _expand(path, plan, block)]
    for number, run in enumerate(planned):
        if any(run.folder == other.folder for other in planned[:number]):
            raise UserError(f"{path} plans two runs in {run.folder}. Give one of them another name or out.")
    ranks = {seed: rank for rank, seed in enumerate(dict.fromkeys(run.seed for run in planned))}
    return sorted(planned, key=lambda run: ranks[run.seed])


def planned_imports(path: Path) -> tuple[str, ...]:
    """The modules that a plan's tasks and algorithms are in, if they are not ours."""
    modules = _parse(path).get("import", [])
    if not _is_list_of(modules, str):
        raise UserError(f"{path}: 'import' must be {KEYS['import']}; got {modules!r}.")
    return tuple(modules)


def _parse(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text()
        plan = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UserError(f"Cannot read the plan {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no plan: {error}. Plans are TOML, or JSON if the name ends in .json.") from None
    if not isinstance(plan, dict):
        raise UserError(f"{path} is no plan: it must be a table with keys such as {', '.join(KEYS)}.")
    return plan


def _expand(path: Path, plan: dict[str, Any], block: dict[str, Any]) -> list[PlannedRun]:
    """One product of tasks, algorithms and seeds."""
    given = plan | block
    for key, value in given.items():
        _check_key(path, key, value)
    for key in ("out", "tasks", "algorithms"):
        if not given.get(key):
            raise UserError(f"{path} does not say '{key}': {KEYS[key]}, at the top or in every table of runs.")
    numbers: dict[str, Any] = {
        key: int(given[key]) for key in ("steps", "checkpoint_every", "evaluation_episodes") if key in given
    }
    changes = plan.get("set", {}) | block.get("set", {})
    frozen = tuple((key, tuple(value) if isinstance(value, list) else value) for key, value in changes.items())
    return [
        PlannedRun(
            task, algorithm, seed, Settings(**numbers),
            Path(given["out"]) / short_name(task) / given.get("name", short_name(algorithm)) / f"seed-{seed}", frozen,
            int(given["compressed_from"]) if "compressed_from" in given else None,
        )
        for task in given["tasks"]
        for algorithm in given["algorithms"]
        for seed in given.get("seeds", [0])
    ]  # fmt: skip


def _check_key(path: Path, key: str, value: Any) -> None:
    if key not in KEYS or key in ("runs", "import"):
        close = get_close_matches(key, KEYS, n=1)
        hint = f" Did you mean '{close[0]}'?" if close and close[0] != key else ""
        raise UserError(f"{path} has a key '{key}' that plans do not know here.{hint} Known: {', '.join(KEYS)}.")
    fits = {
        "tasks": lambda: _is_list_of(value, str),
        "algorithms": lambda: _is_list_of(value, str),
        "seeds": lambda: isinstance(value, list) and all(map(_is_whole, value)),
        "set": lambda: isinstance(value, dict) and all(map(_names_a_part, value)),
        "name": lambda: isinstance(value, str),
        "out": lambda: isinstance(value, str),
    }.get(key, lambda: _is_whole(value))
    if not fits():
        raise UserError(f"{path}: '{key}' must be {KEYS[key]}; got {value!r}.")


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)


def _names_a_part(name: str) -> bool:
    return name.startswith(("algorithm.", "task."))


@functools.cache
def _task(name: str, changes: tuple[tuple[str, Any], ...]) -> tuple[Task | HostTask, Any]:
    """A task with the changes that concern it, and its configuration."""
    return _with_changes("task", make_any(name), changes)


@functools.cache
def _learner(name: str, task: str, changes: tuple[tuple[str, Any], ...]) -> Any:
    """The configuration of an algorithm for a task, with the changes that concern it."""
    return _with_changes("algorithm", make_algorithm(name, _task(task, changes)[0]), changes)[1]


def _with_changes(part: str, value: Any, changes: tuple[tuple[str, Any], ...]) -> tuple[Any, Any]:
    """The same with some settings changed, and its configuration; building it checks it."""
    config = {part: to_json(value)}
    ours = [(key, new) for key, new in changes if key.startswith(f"{part}.")]
    for key, new in ours:
        config = with_change(config, key, list(new) if isinstance(new, tuple) else new)
    value = from_json(config[part]) if ours else value
    return value, to_json(value)


def what_to_do(run: PlannedRun) -> str:
    """In a few words, for who wants to know before."""
    if run.finished:
        return "finished"
    if not run.exists:
        return "start"
    return f"resume from step {run.step:,}" if run.step else "resume"


def unfinished(planned: Sequence[PlannedRun]) -> list[PlannedRun]:
    """Those that there is something left to do for."""
    return [run for run in planned if not run.finished]
