"""Parts of a task that depend on each other, and where a contradiction between them is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from openteam.core.openness import AbstractOpenness
from openteam.core.view import AbstractView
from openteam.core.world import AbstractWorld


@dataclass(frozen=True)
class Parts:
    """What a part may ask about the task that it belongs to."""

    world: AbstractWorld[Any]
    openness: AbstractOpenness
    pool: Any
    view: AbstractView
    horizon: int

    def check(self) -> None:
        """Let every part that wants to, check the others."""
        for part in (self.world, self.openness, self.view, self.pool, *self.pool.families):
            if isinstance(part, ChecksParts):
                part.check_parts(self)


@runtime_checkable
class ChecksParts(Protocol):
    """A part that repeats a fact of another one (the size of a grid, the length of a game) or needs something there."""

    def check_parts(self, parts: Parts) -> None:
        """Raise a ``UserError`` if another part contradicts this one."""
        ...
