"""What the numbers of an observation are, told by the world that makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Entry:
    """One number: within its bounds, or what stands there when its owner is absent, gone or out of sight."""

    meaning: str
    low: int | float
    high: int | float
    absent: int | float


@dataclass(frozen=True)
class Layout:
    """All entries of an agent's row, all shared ones, the names of the actions, and what else one should know."""

    agents: tuple[Entry, ...]
    shared: tuple[Entry, ...]
    actions: tuple[str, ...]
    note: str


@runtime_checkable
class Documented(Protocol):
    """A world that can tell what its features are. Views may hide and move things, but keep to these bounds."""

    def layout(self, slots: int) -> Layout:
        """The layout in a team of so many: bounds may depend on it, numbers of entries never."""
        ...
