"""How long a run is and how often it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from openteam.errors import check_whole

CHECKPOINTS = 40
SHORTEST_INTERVAL = 20_000
ROWS_PER_CHECKPOINT = 10
MOST_STEPS = 2**31 - 1  # counters have 32 bits
MOST_EPISODES = 1_000_000  # they are played side by side


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
