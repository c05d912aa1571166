"""What a page is about: a task, who the learner in it is, and the words for both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from openteam.core.layout import Documented
from openteam.core.policy import AbstractPolicy
from openteam.task import Task
from openteam.viewer.legends import legend_of
from openteam.viewer.scenes import ground_of, roles_of
from openteam.views.full import FullView
from openteam.worlds.grid_drawing import letters

SCHEMA = 1  # of frames and of what describes them; a page of another one says so
KEYS = {
    **dict.fromkeys(("north", "up"), "ArrowUp"),
    **dict.fromkeys(("south", "down"), "ArrowDown"),
    **dict.fromkeys(("west", "left"), "ArrowLeft"),
    **dict.fromkeys(("east", "right"), "ArrowRight"),
    **dict.fromkeys(("load", "shoot"), " "),
    **dict.fromkeys(("none", "stay"), "."),
    "turn left": "q",
    "turn right": "e",
}


@dataclass(frozen=True)
class Player:
    """A policy and its name."""

    name: str
    policy: AbstractPolicy


@dataclass(frozen=True)
class Stage:
    """A task under one of its splits, who plays the learner, and perhaps another to compare it with."""

    task: Task
    player: Player
    split: str = "train"
    rival: Player | None = None
    splits: tuple[str, ...] = ("train",)
    steps: tuple[int, ...] = field(default_factory=tuple)
    """Checkpoints that can be watched instead."""
    step: int | None = None
    """The one that is watched."""

    def describe(self) -> dict[str, Any]:
        """All that a page must know before the first frame."""
        task = self.task
        return {
            "schema": SCHEMA,
            "task": task.name,
            "split": self.split,
            "splits": list(self.splits),
            "player": self.player.name,
            "rival": self.rival and self.rival.name,
            "steps": list(self.steps),
            "step": self.step,
            "horizon": task.horizon,
            "slots": task.slots,
            "names": [letters(slot) for slot in range(task.slots)],
            "roles": roles_of(task.world, task.slots),
            "actions": self.action_names,
            "keys": keys_of(self.action_names),
            "types": [{"name": name, "what": what} for name, what in types_of(task)],
            "ground": ground_of(task.world),
            "legend": legend_of(task.world),
            "partial": not isinstance(task.view, FullView),
        }

    @property
    def action_names(self) -> list[str]:
        task = self.task
        if isinstance(task.world, Documented):
            return list(task.world.layout(task.slots).actions)
        return [f"action {number}" for number in range(task.world.actions)]


def keys_of(actions: list[str]) -> list[str]:
    """A key of the keyboard for each action: arrows where it is a direction, a digit where nothing suits it."""
    digits = iter("1234567890" + "abcdfghijklmnoprstuvwxyz")
    return [KEYS.get(action) or next(digits, "") for action in actions]


def types_of(task: Task) -> list[tuple[str, str]]:
    """Names of the pool's types, and a sentence about each where its family has one."""
    found = []
    for family in task.pool.families:
        sentences = getattr(family, "sentences", ("",) * family.size)
        found += zip(family.names, sentences, strict=True)
    return found
