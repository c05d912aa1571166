"""Tasks and algorithms by name: ``lbf`` is ours, ``my_worlds:maze`` is ``maze`` in a module that was imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from openteam.algorithms.presets import ALGORITHMS
from openteam.core.learner import AbstractLearner
from openteam.errors import UserError
from openteam.storage.classes import find_imported
from openteam.task import Task
from openteam.tasks import TASKS

Value = TypeVar("Value")


def make(name: str) -> Task:
    """The task of that name."""
    return _look_up("task", name, TASKS, Task)


def make_algorithm(name: str) -> AbstractLearner:
    """The algorithm of that name, with its default settings."""
    return _look_up("algorithm", name, ALGORITHMS, AbstractLearner)


def short_name(name: str) -> str:
    """A name that can be part of a folder's: without its module."""
    return name.rpartition(":")[2]


def _look_up(kind: str, name: str, known: Mapping[str, Callable[[], Value]], cls: type[Value]) -> Value:
    if ":" in name:
        return _from_module(kind, name, cls)
    if name in known:
        return known[name]()
    close = get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise UserError(f"There is no {kind} '{name}'.{hint} Known: {', '.join(known)}.")


def _from_module(kind: str, name: str, cls: type[Value]) -> Value:
    """A value in a module of the user's, or what a function or class there makes without arguments."""
    found = find_imported(name)
    value = found if isinstance(found, cls) or not callable(found) else _call(kind, name, found)
    if not isinstance(value, cls):
        raise UserError(f"{name} is no {kind}: expected a {cls.__name__}, got a {type(value).__name__}.")
    return value


def _call(kind: str, name: str, function: Callable[[], Any]) -> Any:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError) as error:
        raise UserError(f"{name} must make the {kind} without arguments: {error}.") from None
    return function()
