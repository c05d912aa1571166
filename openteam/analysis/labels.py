"""What to call a run's task and algorithm: the name of the nearest preset, and whatever was changed of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from openteam.algorithms.presets import ALGORITHMS
from openteam.errors import UserError
from openteam.storage.changes import describe, differences, short_class
from openteam.storage.config import from_json, to_json
from openteam.tasks import TASKS


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
        self.algorithms = {name: to_json(build()) for name, build in ALGORITHMS.items()}
        self.tasks: dict[str, Any] = {}
        self.filled: dict[str, Any] = {}
        self.strangers: dict[str, Any] = {}

    def task(self, config: dict[str, Any]) -> Label:
        """A task knows its name; its parts may differ from those it has today."""
        name = config["name"]
        if name not in self.tasks:
            self.tasks[name] = to_json(TASKS[name]()) if name in TASKS else config
        written = json.dumps(config, sort_keys=True)
        if written not in self.filled:  # the runs of a plan share a task, which takes a moment to build
            self.filled[written] = with_defaults(config)
        return Label(name, describe(differences(self.filled[written], self.tasks[name])))

    def algorithm(self, config: dict[str, Any]) -> Label:
        """The preset with the fewest other parts, then with the fewest other fields."""
        config = with_defaults(config)
        kin = {name: preset for name, preset in self.algorithms.items() if preset["class"] == config["class"]}
        if not kin:
            reference = self.strangers.setdefault(config["class"], config)
            return Label(short_class(config["class"]), describe(differences(config, reference)))
        changes = {name: differences(config, preset) for name, preset in kin.items()}

        def distance(name: str) -> tuple[int, int]:
            return sum(isinstance(value, dict) for value in changes[name].values()), len(changes[name])

        nearest = min(changes, key=distance)
        return Label(nearest, describe(changes[nearest]))


def with_defaults(config: dict[str, Any]) -> dict[str, Any]:
    """With the fields that were added since, as the code would fill them in; unchanged if it is not known here."""
    try:
        return to_json(from_json(config))
    except UserError:
        return config
