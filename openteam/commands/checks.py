"""Mistakes that are found without JAX: numbers out of range, names of nothing, paths to nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from openteam.catalogue import catalogue, check_task, did_you_mean
from openteam.errors import UserError, check_seed, check_whole
from openteam.storage.creation import check_free
from openteam.training.settings import MOST_EPISODES


def check_episodes(episodes: int, seed: int, lowest: int = 1) -> None:
    """Raise unless this many episodes can be played from this seed."""
    check_whole("--episodes", episodes, lowest, MOST_EPISODES)
    check_seed(seed)


def check_tasks(names: Iterable[str | None]) -> None:
    """Raise at the name of a task that does not exist."""
    for name in names:
        if name is not None:
            check_task(name)


def check_split(task: str, split: str, splits: Sequence[str] | None = None) -> None:
    """Raise unless a task has all parts of a split such as larger+unseen. A task of the user's must be built first."""
    ours = catalogue().tasks.get(task)
    known = splits or (ours.splits if ours else ())
    for part in split.split("+"):
        if known and part not in known:
            raise UserError(
                f"Task '{task}' has no split '{part}'.{did_you_mean(part, known)} It has: {', '.join(known)}."
            )


def check_policy(path: Path) -> None:
    """Raise unless there may be a policy at a path: a run folder or a checkpoint file."""
    if not path.exists():
        raise UserError(f"There is no checkpoint at {path}. Give a run folder or one of its checkpoints.")
    if path.is_dir() and not (path / "config.json").is_file():
        raise UserError(f"{path} is not a run: it has no config.json.")


def check_split_of_run(path: Path, split: str) -> None:
    """Raise unless the task of a run has a split. A damaged configuration is left to who reads all of it."""
    folder = path if path.is_dir() else path.parent.parent
    try:
        task = json.loads((folder / "config.json").read_text(encoding="utf-8"))["task"]
        name, splits = str(task["name"]), ["train", *task["splits"]]
    except (OSError, ValueError, LookupError, TypeError):
        return
    check_split(name, split, splits)


def check_runs(command: str, paths: Sequence[Path]) -> None:
    """Raise unless there are runs at or below all paths."""
    if not paths:
        raise UserError(f"openteam {command} needs runs, as in: openteam {command} RUNS.")
    for path in paths:
        if not path.exists():
            raise UserError(f"There is no run at {path}.")
        if next(path.rglob("config.json"), None) is None:
            raise UserError(f"There is no run in {path}: no folder with a config.json.")


def check_new_run(path: Path) -> None:
    """Raise unless a run can be made at a path."""
    check_free(path)
    above = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not above.is_dir():
        raise UserError(f"Cannot write to {path}: {above} is a file. Choose another --out.")


def check_suffix(what: str, path: Path, suffixes: Sequence[str]) -> None:
    """Raise unless a file's name ends as it must."""
    if path.suffix not in suffixes:
        raise UserError(f"{what} as {', '.join(suffixes)}; got '{path.name}'.")
