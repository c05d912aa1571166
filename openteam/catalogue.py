"""What there is by name: tasks and algorithms, their splits, types and settings, known without building any of them.

JAX takes seconds to import and a task a second to trace; ``openteam list`` and a mistyped name are answered from here.
``python -m openteam.commands.write_catalogue`` writes the file anew after a change, and a test compares the two.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from openteam.errors import UserError
from openteam.storage.imported import check_imported

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class TaskEntry:
    """A task without its parts."""

    what: str
    splits: tuple[str, ...]
    types: tuple[str, ...]
    """All that its teammates can be, over all splits."""
    drawable: bool
    settings: Mapping[str, str]
    """Of every flag without its dashes what it expects, such as INT; flags that expect nothing have ''."""
    imports: str | None
    """The authors' agents that it plays with and that must have been imported, such as 'wolfpack'."""


@dataclass(frozen=True)
class AlgorithmEntry:
    """An algorithm without its models."""

    what: str
    defaults: Mapping[str, int | float]
    """Values of the settings that people change first."""
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Catalogue:
    """Everything that has a name, in the order in which it is listed."""

    tasks: Mapping[str, TaskEntry]
    algorithms: Mapping[str, AlgorithmEntry]


@functools.cache
def catalogue() -> Catalogue:
    """What the file says."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    tasks = {
        name: TaskEntry(**entry | {"splits": tuple(entry["splits"]), "types": tuple(entry["types"])})
        for name, entry in content["tasks"].items()
    }
    return Catalogue(tasks, {name: AlgorithmEntry(**entry) for name, entry in content["algorithms"].items()})


def check_task(name: str) -> None:
    """Raise unless there is a task of that name, with all it needs. A module of the user's is left to the registry."""
    check_name("task", name, catalogue().tasks)
    ours = catalogue().tasks.get(name)
    if ours is not None and ours.imports is not None:
        check_imported(ours.imports, f"'{name}'")


def check_algorithm(name: str) -> None:
    """The same of algorithms."""
    check_name("algorithm", name, catalogue().algorithms)


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise unless a name is known or names a module."""
    if ":" not in name and name not in (names := list(known)):
        raise UserError(f"There is no {kind} '{name}'.{did_you_mean(name, names)} Known: {', '.join(names)}.")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at what is spelled nearly like it; nothing if nothing is."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean '{close[0]}'?" if close else ""
