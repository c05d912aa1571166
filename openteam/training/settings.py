"""How long a run is and how often it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from openteam.errors import UserError

CHECKPOINTS = 40
SHORTEST_INTERVAL = 20_000
ROWS_PER_CHECKPOINT = 10


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
        for name in ("steps", "checkpoint_every", "evaluation_episodes"):
            value = getattr(self, name)
            if type(value) is not int and not (name == "checkpoint_every" and value is None):
                raise UserError(f"{name} must be a whole number; got {value!r}.")
        if self.steps < 1:
            raise UserError(f"A run needs at least 1 step; got {self.steps}.")
        if self.checkpoint_every is not None and self.checkpoint_every < 1:
            raise UserError(f"checkpoint_every must be at least 1 step; got {self.checkpoint_every}.")
        if self.evaluation_episodes < 1:
            raise UserError(f"evaluation_episodes must be at least 1; got {self.evaluation_episodes}.")

    def updates(self, chunk: int) -> int:
        """Updates of ``chunk`` steps in the run."""
        return max(1, -(-self.steps // chunk))

    def interval(self, chunk: int) -> int:
        """Updates between checkpoints."""
        return max(1, round((self.checkpoint_every or max(self.steps / CHECKPOINTS, SHORTEST_INTERVAL)) / chunk))
