"""What to call a run's task and algorithm: the name of the nearest preset, and whatever was changed of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from openteam.algorithms.presets import ALGORITHMS, preset
from openteam.algorithms.task_kind import TaskKind, kind_of
from openteam.errors import UserError
from openteam.storage.changes import describe, differences, short_class
from openteam.storage.config import from_json, to_json
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.views import FullView


@dataclass(frozen=True)
class Label:
    """A preset's name, and the fields in which a configuration differs from it."""

    name: str
    changes: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.changes})" if self.changes else self.name

    def place(self, known: dict[str, Any]) -> tuple[int, str]:
        """Sorts like the list of presets; what is not in it comes last."""
        names = list(known)
        return (names.index(self.name) if self.name in names else len(names), str(self))


class Labels:
    """Finds labels from configurations alone. What no preset is like is compared with the first of its name."""

    def __init__(self) -> None:
        self.algorithms: dict[TaskKind, dict[str, Any]] = {}
        self.tasks: dict[str, Any] = {}
        self.kinds: dict[str, TaskKind] = {}
        self.filled: dict[str, Any] = {}
        self.strangers: dict[str, Any] = {}

    def task(self, config: dict[str, Any]) -> Label:
        """A task knows its name; its parts may differ from those it has today."""
        name = config["name"]
        self.read(config)
        written = json.dumps(config, sort_keys=True)
        if written not in self.filled:  # the runs of a plan share a task, which takes a moment to build
            self.filled[written] = with_defaults(config)
        return Label(name, describe(differences(self.filled[written], self.tasks[name])))

    def algorithm(self, config: dict[str, Any], task: dict[str, Any]) -> Label:
        """The preset with the smallest other parts, then with the fewest other fields; as it is for the run's task."""
        config = with_defaults(config)
        view = task.get("view", {"class": FullView.__name__})
        if short_class(view["class"]) == FullView.__name__:  # nobody is ever out of sight
            config.pop("forgets_unseen", None)
        kin = {name: known for name, known in self.presets(task).items() if known["class"] == config["class"]}
        if not kin:
            reference = self.strangers.setdefault(config["class"], config)
            return Label(short_class(config["class"]), describe(differences(config, reference)))
        changes = {name: differences(config, preset) for name, preset in kin.items()}

        def distance(name: str) -> tuple[int, int]:
            exchanged = [*changes[name].values(), *differences(kin[name], config).values()]
            return sum(map(settings_inside, exchanged)), len(changes[name])

        nearest = min(changes, key=distance)
        return Label(nearest, describe(changes[nearest]))

    def presets(self, task: dict[str, Any]) -> dict[str, Any]:
        """Configurations of all algorithms for the task of that name."""
        kind = self.read(task)
        if kind not in self.algorithms:
            self.algorithms[kind] = {name: to_json(preset(name, kind)) for name in ALGORITHMS}
        return self.algorithms[kind]

    def read(self, task: dict[str, Any]) -> TaskKind:
        """The kind of the task of that name; what is not known here is taken for one on a grid."""
        name = task["name"]
        if name not in self.tasks:
            known = todays(name)
            self.tasks[name] = task if known is None else to_json(known)
            self.kinds[name] = TaskKind() if known is None else kind_of(known)
        return self.kinds[name]


def settings_inside(value: Any) -> int:
    """How many settings a part has, with those of its own parts; 0 for what is no part."""
    return len(value) + sum(map(settings_inside, value.values())) if isinstance(value, dict) else 0


def todays(name: str) -> Task | None:
    """The task that has this name today. None if none has, or if its agents were not imported here."""
    try:
        return TASKS[name]() if name in TASKS else None
    except UserError:
        return None


def with_defaults(config: dict[str, Any]) -> dict[str, Any]:
    """With the fields that were added since, as the code would fill them in; unchanged if it is not known here."""
    try:
        return to_json(from_json(config))
    except UserError:
        return dict(config)
