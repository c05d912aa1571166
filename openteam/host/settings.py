"""What one environment in plain Python needs to know: names of functions and numbers, no JAX."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class HostSettings:
    """Functions go by ``module:name``; ``HostTask`` documents every field."""

    env: str
    learner: str
    arguments: dict[str, Any] = field(default_factory=dict)
    cap: int | None = None
    horizon: int = 1000
    features: str | None = None
    shared: str | None = None
    present: str | None = None
    sees: str | None = None
    teammates: tuple[str, ...] = ()
    taken: str | None = None

    @property
    def names(self) -> list[str]:
        """All functions that are named."""
        optional = (self.features, self.shared, self.present, self.sees, self.taken)
        return [self.env, *self.teammates, *(name for name in optional if name is not None)]
