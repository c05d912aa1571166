"""The task that an environment is made for."""

from __future__ import annotations

import functools

from openteam.catalogue import catalogue
from openteam.registry import make
from openteam.task import Task


def choose_task(task: Task | str, split: str) -> tuple[Task, Task]:
    """A task, given as a name or a value, and its split."""
    if isinstance(task, str) and task in catalogue().tasks:
        return named_task(task, split)
    whole = make(task) if isinstance(task, str) else task
    return whole, whole.split(split)


@functools.cache
def named_task(name: str, split: str) -> tuple[Task, Task]:
    """One of ours. To make it takes a while, and whoever makes one environment often makes many."""
    task = make(name)
    return task, task.split(split)
