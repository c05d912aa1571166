"""One bench: what was asked for, where it prints, what it found so far."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from rich.console import Console

from openteam.commands.bench import Bench
from openteam.registry import make, make_algorithm
from openteam.storage.writing import write_atomic
from openteam.task import Task
from openteam.views.full import FullView

FULL = ("gpl-q", "gpl-spi", "ql", "ql-am", "gnn", "gnn-am", "dgn", "maddpg", "ciao-s", "ciao-c", "ippo")
PARTIAL = ("gpl-q", "ae-gpl", "vae-gpl", "pf-gpl", "pf-gpl-5", "pf-gpl-1", "ppo", "dvrl")
"""What is compared where everything can be seen, and where it cannot."""


@dataclasses.dataclass(frozen=True)
class Session:
    """What all tables share."""

    bench: Bench
    console: Console
    cores: list[int]
    figures: dict[str, Any]

    def add(self, name: str, row: dict[str, Any]) -> None:
        """Keep a figure, also on disk: the whole takes long."""
        self.figures.setdefault(name, []).append(row)
        if self.bench.json:
            self.bench.json.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self.bench.json, (json.dumps(self.figures, indent=1) + "\n").encode())


def measured(bench: Bench, task: str) -> tuple[str, ...]:
    """The algorithms to measure on a task."""
    if bench.algorithms != ("all",):
        return bench.algorithms
    return FULL if isinstance(make(task).view, FullView) else PARTIAL


def with_envs(algorithm: str, task: Task | None, envs: int) -> Any:
    """The algorithm for a task with that many environments."""
    return dataclasses.replace(make_algorithm(algorithm, task), envs=envs)
