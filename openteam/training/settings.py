"""How long a run is and how often it is looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from openteam.errors import UserError, check_whole

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
    paired_evaluation: bool = True
    """Whether runs of different algorithms with the same seed are evaluated on the same episodes (``EpisodeSeeds``)."""
    evaluation_splits: tuple[str, ...] | None = None
    """The splits that checkpoints are evaluated on, ``train`` among them; by default all that the task has."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Settings:
        """What a config.json says. One that is older than a setting means what was done then."""
        older: dict[str, Any] = {"paired_evaluation": False}
        return cls(**older | config)

    def __post_init__(self) -> None:
        check_whole("steps", self.steps, 1, MOST_STEPS)
        if self.checkpoint_every is not None:
            check_whole("checkpoint_every", self.checkpoint_every, 1, MOST_STEPS)
        check_whole("evaluation_episodes", self.evaluation_episodes, 1, MOST_EPISODES)
        if self.evaluation_splits is not None:  # a list in a configuration
            object.__setattr__(self, "evaluation_splits", tuple(self.evaluation_splits))
            if "train" not in self.evaluation_splits:
                raise UserError(f"evaluation_splits must have 'train' among them; got {self.evaluation_splits}.")

    @property
    def config(self) -> dict[str, Any]:
        """As it goes into config.json."""
        splits = self.evaluation_splits
        return asdict(self) | {"evaluation_splits": None if splits is None else list(splits)}

    def updates(self, chunk: int) -> int:
        """Updates of ``chunk`` steps in the run."""
        return max(1, -(-self.steps // chunk))

    @property
    def every(self) -> float:
        """Steps between checkpoints."""
        return float(self.checkpoint_every or max(self.steps / CHECKPOINTS, SHORTEST_INTERVAL))

    def interval(self, chunk: int) -> int:
        """Updates between checkpoints."""
        return max(1, round(self.every / chunk))

    def planned_step(self, chunk: int, updates: int) -> int:
        """The step that the checkpoint at this update was planned for, the same for every learner.

        A checkpoint is written after a whole number of updates, so learners with another chunk only come near it.
        """
        if updates >= self.updates(chunk):
            return self.steps
        return round(updates // self.interval(chunk) * self.every)
