"""Tasks and algorithms by name: ``lbf`` is ours, ``my_worlds:maze`` is ``maze`` in a module that was imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from openteam.catalogue import check_algorithm, check_task
from openteam.errors import UserError

if TYPE_CHECKING:  # imported where they are made: an unknown name is answered without JAX
    from openteam.core.learner import AbstractLearner
    from openteam.host.task import HostTask
    from openteam.task import Task

Value = TypeVar("Value")


def make(name: str) -> Task:
    """The task of that name, which openteam compiles."""
    task = make_any(name)
    from openteam.host.task import compiled

    return compiled(task)


def make_any(name: str, learner: str | None = None) -> Task | HostTask:
    """The task of that name. An environment in plain Python becomes one, with the agent ``learner`` as its learner."""
    check_task(name)
    from openteam.host.registering import from_environment
    from openteam.host.task import HostTask
    from openteam.task import Task
    from openteam.tasks import TASKS

    value = _value_of("task", name) if ":" in name else TASKS[name]()
    if isinstance(value, (Task, HostTask)):
        if learner is not None:
            raise UserError(f"{name} knows its learner already: leave --learner out, which is for environments.")
        return value
    return from_environment(name, value, learner)


def make_algorithm(name: str, task: Task | HostTask | None = None) -> AbstractLearner:
    """The algorithm of that name, with its default settings for a task; without one, for small teams on a grid."""
    check_algorithm(name)
    from openteam.algorithms.presets import preset
    from openteam.algorithms.task_kind import TaskKind, kind_of
    from openteam.core.learner import AbstractLearner

    if ":" in name:
        return _from_module("algorithm", name, AbstractLearner)
    return preset(name, TaskKind() if task is None else kind_of(task))


def set_for_task(name: str, task: Task | HostTask) -> str | None:
    """What sets an algorithm for this task apart from the one that it is a variant of; None if it is that one."""
    if ":" in name:
        return None
    from openteam.algorithms.presets import ALGORITHMS, variant_of
    from openteam.storage.changes import describe, differences
    from openteam.storage.config import to_json

    plain = variant_of(name)
    changes = differences(to_json(make_algorithm(name, task)), to_json(ALGORITHMS[plain]()))
    if not changes and plain == name:
        return None
    return f"{name} for {task.name} is {plain}{' with ' * bool(changes)}{describe(changes)}."


def short_name(name: str) -> str:
    """A name that can be part of a folder's: without its module."""
    return name.rpartition(":")[2]


def _value_of(kind: str, name: str) -> Any:
    """A value in a module of the user's, or what a function or class there makes without arguments."""
    from equinox import Module

    from openteam.storage.classes import find_imported

    found = find_imported(name)
    return found if isinstance(found, Module) or not callable(found) else _call(kind, name, found)


def _from_module(kind: str, name: str, cls: type[Value]) -> Value:
    """The same, if it is what is expected."""
    value = _value_of(kind, name)
    if not isinstance(value, cls):
        raise UserError(f"{name} is no {kind}: expected a {cls.__name__}, got a {type(value).__name__}.")
    return value


def _call(kind: str, name: str, function: Callable[[], Any]) -> Any:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError) as error:
        raise UserError(f"{name} must make the {kind} without arguments: {error}.") from None
    return function()
