"""Tasks and algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from openteam.algorithms.presets import ALGORITHMS
from openteam.core.learner import AbstractLearner
from openteam.errors import UserError
from openteam.task import Task
from openteam.tasks import TASKS

Value = TypeVar("Value")


def make(name: str) -> Task:
    """The task of that name."""
    return _look_up("task", name, TASKS)


def make_algorithm(name: str) -> AbstractLearner:
    """The algorithm of that name, with its default settings."""
    return _look_up("algorithm", name, ALGORITHMS)


def _look_up(kind: str, name: str, known: Mapping[str, Callable[[], Value]]) -> Value:
    if name in known:
        return known[name]()
    close = get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise UserError(f"There is no {kind} '{name}'.{hint} Known: {', '.join(known)}.")
