"""What a run is: task, learner, settings and seed. Everything that it yields is a function of these."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from openteam.core.learner import AbstractLearner
from openteam.core.splits import check_split
from openteam.errors import UserError, check_seed
from openteam.host.task import HostTask
from openteam.storage.config import from_json, to_json
from openteam.task import Task
from openteam.training.episode_seeds import EpisodeSeeds
from openteam.training.settings import ROWS_PER_CHECKPOINT, Settings


@dataclasses.dataclass(frozen=True)
class RunSpec:
    """The specification of a run, and the updates at which something is written."""

    task: Task | HostTask
    learner: AbstractLearner
    settings: Settings
    seed: int

    def __post_init__(self) -> None:
        if not isinstance(self.task, (Task, HostTask)):
            raise UserError(f"A run needs a Task, as make('lbf') gives; got a {type(self.task).__name__}.")
        if not isinstance(self.learner, AbstractLearner):
            raise UserError(
                f"A run needs a learner, as make_algorithm('gpl-q') gives; got a {type(self.learner).__name__}."
            )
        check_seed(self.seed)
        for split in self.settings.evaluation_splits or ():
            check_split(self.task.name, self.task.splits, split)

    @classmethod
    def from_config(cls, config: dict[str, Any], folder: Path | None = None) -> RunSpec:
        """What a run's config.json says. Given the run's folder, no file outside it is read."""
        try:
            task, learner = from_json(config["task"], folder), from_json(config["learner"], folder)
            return cls(task, learner, Settings.from_config(config["settings"]), config["seed"])
        except (KeyError, TypeError) as error:
            raise UserError(f"The configuration of {folder or 'a run'} does not fit this version: {error}.") from None

    @property
    def config(self) -> dict[str, Any]:
        """What goes into config.json."""
        return {
            "task": to_json(self.task),
            "learner": to_json(self.learner),
            "settings": self.settings.config,
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

    def checkpoint_due(self, updates: int) -> bool:
        """Whether there is a checkpoint after this many updates."""
        return updates == 0 or updates == self.next_checkpoint(updates - 1)

    @property
    def episode_seeds(self) -> EpisodeSeeds:
        """Which episodes its checkpoints are evaluated on."""
        return EpisodeSeeds(self.settings, self.chunk, self.seed, self.task.split_names)

    def next_row(self, updates: int) -> int:
        """The update at which the next row of training metrics is due."""
        every = max(1, self.settings.interval(self.chunk) // ROWS_PER_CHECKPOINT)
        return min((updates // every + 1) * every, self.next_checkpoint(updates))
