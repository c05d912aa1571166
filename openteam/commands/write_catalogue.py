"""Writes openteam/catalogue.json: what the tasks and algorithms of this version are.

python -m openteam.commands.write_catalogue
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import re
from collections.abc import Callable
from typing import Any

import jax
import tyro

from openteam.algorithms.presets import ALGORITHMS, preset
from openteam.algorithms.task_kind import TaskKind
from openteam.catalogue import FILE, AlgorithmEntry, TaskEntry
from openteam.commands.parts import CONFIG
from openteam.commands.train import FIRST
from openteam.core.world import Drawable
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.teammates.authors.store import AbstractPublished

FLAG = re.compile(r"--([\w.-]+)(?: ([A-Z{][^\s,│]*(?:,[^\s│]+)?))?")


def content() -> str:
    """The file: a line per task and per algorithm."""
    parts = {
        "tasks": {name: dataclasses.asdict(task_entry(build)) for name, build in TASKS.items()},
        "algorithms": {name: dataclasses.asdict(algorithm_entry(name)) for name in ALGORITHMS},
    }
    blocks = (
        f'"{kind}": {{\n' + ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        for kind, entries in parts.items()
    )
    return "{\n" + "\n},\n".join(blocks) + "\n}\n}\n"


def task_entry(build: Callable[[], Task]) -> TaskEntry:
    """What is said of a task."""
    task = build()
    types = [name for split in task.split_names for name in task.split(split).pool.names]
    drawable = isinstance(task.world, Drawable)
    return TaskEntry(
        first_line(build), task.split_names, tuple(dict.fromkeys(types)), drawable, settings("task", task),
        imported_group(task),
    )  # fmt: skip


def imported_group(task: Task) -> str | None:
    """The imported agents that play a part in a task; those of one world, if any."""
    parts = jax.tree.leaves(task, is_leaf=lambda part: isinstance(part, AbstractPublished))
    groups = {part.group for part in parts if isinstance(part, AbstractPublished)}
    return groups.pop() if groups else None


def algorithm_entry(name: str) -> AlgorithmEntry:
    """What is said of an algorithm, whatever its task. A number that depends on the task is left out."""
    kinds = TaskKind(), TaskKind(fortattack=True), TaskKind(partial=True)
    learner, *others = (preset(name, kind) for kind in kinds)
    values = {field: getattr(learner, field) for field in FIRST if isinstance(getattr(learner, field), (int, float))}
    numbers = {field: value for field, value in values.items() if all(getattr(o, field) == value for o in others)}
    return AlgorithmEntry(first_line(ALGORITHMS[name]), numbers, settings("algorithm", learner))


def settings(part: str, value: Any) -> dict[str, str]:
    """All flags that change a task or an algorithm, as its help has them, and what each expects."""
    cls = dataclasses.make_dataclass("Part", [(part, type(value))])
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        tyro.cli(cls, args=["--help"], default=cls(value), config=CONFIG)
    found = FLAG.findall(text.getvalue())
    return {flag: expected for flag, expected in found if flag.startswith(f"{part}.") and expected != "{fixed}"}


def first_line(function: Callable) -> str:
    """What a function says of itself."""
    return (function.__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    FILE.write_text(content(), encoding="utf-8")
