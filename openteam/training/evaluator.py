"""What is measured of a frozen policy at a checkpoint."""

from __future__ import annotations

import dataclasses
from typing import Any

from openteam.core.policy import AbstractPolicy
from openteam.host.task import HostTask
from openteam.rollout.belief_scores import belief_scores, holds_belief
from openteam.rollout.episodes import Episodes, evaluate
from openteam.training.spec import RunSpec

BELIEF_EPISODES = 32
"""That beliefs are judged on, unless fewer are played for returns."""


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Episodes of every split, and how well beliefs match the truth where something is hidden."""

    episodes: dict[str, Episodes]
    beliefs: dict[str, float] | None

    @property
    def means(self) -> dict[str, float]:
        return {split: played.mean for split, played in self.episodes.items()}

    def episode_rows(self, step: int) -> list[dict[str, Any]]:
        return [row for split, played in self.episodes.items() for row in played.rows(step, split)]

    def belief_rows(self, step: int) -> list[dict[str, Any]]:
        return [] if self.beliefs is None else [{"step": step, "split": "train"} | self.beliefs]


def evaluate_checkpoint(spec: RunSpec, policy: AbstractPolicy, updates: int) -> Evaluation:
    """Other episodes at every checkpoint, the same ones for every learner that is trained with this seed."""
    seeds, episodes = spec.episode_seeds, spec.settings.evaluation_episodes
    played = {
        split: evaluate(policy, spec.task.split(split), episodes=episodes, seed=seeds.at(updates, split))
        for split in spec.settings.evaluation_splits or spec.task.split_names
    }
    return Evaluation(played, scores_of(spec, policy, updates))


def scores_of(spec: RunSpec, policy: AbstractPolicy, updates: int) -> dict[str, float] | None:
    """Beliefs against the truth; None where nothing is believed."""
    if isinstance(spec.task, HostTask) or not holds_belief(policy, spec.task):
        return None
    episodes = min(BELIEF_EPISODES, spec.settings.evaluation_episodes)
    return belief_scores(policy, spec.task, episodes=episodes, seed=spec.episode_seeds.of_beliefs(updates))
