"""The splits of a task by name; ``larger+unseen`` is both at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from openteam.errors import UserError

SplitT = TypeVar("SplitT")


def check_split(task: str, splits: Mapping[str, object], name: str) -> None:
    """Raise unless the task has a split of this name, be it training."""
    if name != "train" and name not in splits:
        raise UserError(f"Task '{task}' has no split '{name}'. It has: {', '.join(('train', *splits))}.")


def split_parts(task: str, splits: Mapping[str, SplitT], name: str) -> list[SplitT]:
    """What a split changes of its task, one part after another. Training changes nothing."""
    parts = name.split("+")
    for part in parts:
        check_split(task, splits, part)
    return [splits[part] for part in parts if part != "train"]
