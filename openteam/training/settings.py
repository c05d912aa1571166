"""How long a run is and how often it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openteam.errors import UserError

CHECKPOINTS = 40
SHORTEST_INTERVAL = 20_000
ROWS_PER_CHECKPOINT = 10
MOST_STEPS = 2**31 - 1  # counters have 32 bits
MOST_EPISODES = 1_000_000  # they are played side by side
LAST_SEED = 2**32 - 1


@dataclass(frozen=True)
class Settings:
    """The parts of a run that are neither task nor learner."""

    steps: int = 6_400_000
    """Environment steps, over all environments."""
    checkpoint_every: int | None = None
    """Steps between checkpoints; by default a fortieth of the run, but not less than 20,000."""
    evaluation_episodes: int = 256
    """Episodes per split at every checkpoint."""

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1, MOST_STEPS)
        if self.checkpoint_every is not None:
            check_whole("checkpoint_every", self.checkpoint_every, 1, MOST_STEPS)
        check_whole("evaluation_episodes", self.evaluation_episodes, 1, MOST_EPISODES)

    def updates(self, chunk: int) -> int:
        """Updates of ``chunk`` steps in the run."""
        return max(1, -(-self.steps // chunk))

    def interval(self, chunk: int) -> int:
        """Updates between checkpoints."""
        return max(1, round((self.checkpoint_every or max(self.steps / CHECKPOINTS, SHORTEST_INTERVAL)) / chunk))


def check_seed(seed: Any, count: int = 1) -> None:
    """Raise unless this and the next seeds can start a random key."""
    check_whole("seed", seed, 0, LAST_SEED)
    check_whole("the last seed", seed + count - 1, 0, LAST_SEED)


def check_whole(name: str, value: Any, low: int, high: int) -> None:
    """Raise unless a value is a whole number between two bounds, both included."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"{name} must be a whole number; got {value!r}.")
    shown = value if abs(value) < 10**12 else f"{value:.3g}" if abs(value) < 10**300 else "hundreds of digits"
    if value < low:
        raise UserError(f"{name} must be at least {low:,}; got {shown}.")
    if value > high:
        raise UserError(f"{name} must be at most {high:,}; got {shown}.")
