"""What the numbers of an observation mean, as declared by the world that makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Entry:
    """One number: its meaning, its bounds, its value while its owner is absent, gone or out of sight, and its unit."""

    meaning: str
    low: int | float
    high: int | float
    absent: int | float
    unit: str = "none"  # for flags, counts and levels


@dataclass(frozen=True)
class Layout:
    """The entries of an agent's row, the shared entries, the names of the actions, and a remark for readers."""

    agents: tuple[Entry, ...]
    shared: tuple[Entry, ...]
    actions: tuple[str, ...]
    note: str


@runtime_checkable
class Documented(Protocol):
    """A world that declares its features. Views may hide and move things, but stay within these bounds."""

    def layout(self, slots: int) -> Layout:
        """The layout for a team of at most ``slots``: bounds may depend on it, the number of entries never does."""
        ...
