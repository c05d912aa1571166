"""What a run is: task, learner, settings and seed. Everything that it yields is a function of these."""

from __future__ import annotations

import dataclasses
from typing import Any

from openteam.core.learner import AbstractLearner
from openteam.errors import check_seed
from openteam.storage.config import from_json, to_json
from openteam.task import Task
from openteam.training.settings import ROWS_PER_CHECKPOINT, Settings


@dataclasses.dataclass(frozen=True)
class RunSpec:
    """The specification of a run, and the updates at which something is written."""

    task: Task
    learner: AbstractLearner
    settings: Settings
    seed: int

    def __post_init__(self) -> None:
        check_seed(self.seed)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> RunSpec:
        """What a run's config.json says."""
        settings = Settings(**config["settings"])
        return cls(from_json(config["task"]), from_json(config["learner"]), settings, config["seed"])

    @property
    def config(self) -> dict[str, Any]:
        """What goes into config.json."""
        return {
            "task": to_json(self.task),
            "learner": to_json(self.learner),
            "settings": dataclasses.asdict(self.settings),
            "seed": self.seed,
        }

    @property
    def chunk(self) -> int:
        """Environment steps per update."""
        return self.learner.envs * self.learner.update_every

    @property
    def updates(self) -> int:
        """Updates of the whole run."""
        return self.settings.updates(self.chunk)

    def next_checkpoint(self, updates: int) -> int:
        """The update at which the checkpoint after this one is due; none is due right before the last."""
        interval = self.settings.interval(self.chunk)
        due = (updates // interval + 1) * interval
        return self.updates if self.updates - due < interval / 2 else due

    def next_row(self, updates: int) -> int:
        """The update at which the next row of training metrics is due."""
        every = max(1, self.settings.interval(self.chunk) // ROWS_PER_CHECKPOINT)
        return min((updates // every + 1) * every, self.next_checkpoint(updates))
