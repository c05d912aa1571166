"""What is measured of a frozen policy at a checkpoint."""

from __future__ import annotations

import dataclasses
from typing import Any

from openteam.core.policy import AbstractPolicy
from openteam.rollout.belief_scores import belief_scores, holds_belief
from openteam.rollout.episodes import Episodes, evaluate
from openteam.training.spec import RunSpec


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
    """Other episodes at every checkpoint, the same ones in every run with this seed."""
    played = {}
    for number, split in enumerate(spec.task.split_names):
        seed = (spec.seed * 1_000_003 + updates) * 16 + number
        episodes = spec.settings.evaluation_episodes
        played[split] = evaluate(policy, spec.task.split(split), episodes=episodes, seed=seed % 2**31)
    scores = belief_scores(policy, spec.task, seed=updates) if holds_belief(policy, spec.task) else None
    return Evaluation(played, scores)
