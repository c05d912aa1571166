"""How much of the paper's training to repeat."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from openteam.analysis.paper import published_steps
from openteam.analysis.targets import Target, released, runs_of, splits_of
from openteam.execution.plan import PlannedRun
from openteam.training.settings import Settings

ScaleName = Literal["smoke", "laptop", "paper"]


@dataclasses.dataclass(frozen=True)
class Scale:
    """Seeds, lengths, and how often and on how much a run is evaluated. Models are always the paper's."""

    name: ScaleName
    seeds: int
    part: float
    """Of the paper's steps."""
    checkpoints: int | None
    """After the first one; None for the paper's, one every 160,000 steps."""
    evaluation_episodes: int
    analysis_episodes: int
    """Episodes that each checkpoint plays for FortAttack's analyses and that beliefs are judged on."""
    few_programs: bool = False
    """Evaluate only the splits that the paper's tables need, compile as quickly as possible, and read what runs logged
    about their beliefs instead of replaying the same episodes through all."""

    def settings(self, task: str) -> Settings:
        """Of a run on this task."""
        steps = round((published_steps(task) or 6_400_000) * self.part)
        splits = splits_of(task) if self.few_programs else None
        every = 160_000 if self.checkpoints is None else steps // self.checkpoints
        return Settings(steps, every, self.evaluation_episodes, evaluation_splits=splits)

    @property
    def sentence(self) -> str:
        """What was left out compared with the paper, for who reads a table; empty at the paper's scale."""
        seeds = f"{self.seeds} seed{'s' * (self.seeds > 1)}"
        if self.name == "paper":
            return ""
        if self.name == "laptop":
            return f"Laptop scale: {seeds} and {self.part:.0%} of the paper's steps, target networks moving faster."
        return (
            f"SMOKE: {seeds}, a ten-thousandth of the paper's steps, {self.evaluation_episodes} episodes per "
            "evaluation; the networks are of full size but have learned nothing. It shows that everything runs; the "
            "numbers mean nothing."
        )


SCALES: dict[ScaleName, Scale] = {
    "smoke": Scale("smoke", 1, 1e-4, 2, 4, 8, few_programs=True),
    "laptop": Scale("laptop", 3, 0.25, 20, 100, 64),
    "paper": Scale("paper", 8, 1.0, None, 256, 256),
}


def planned_runs(targets: Iterable[Target], scale: Scale, out: Path) -> list[PlannedRun]:
    """Every run that the targets need, once, first seeds first."""
    wanted = list(runs_of(targets))
    return [
        PlannedRun(
            task, released(row), seed, scale.settings(task), out / "runs" / task / row / f"seed-{seed}",
            compressed_from=published_steps(task) if scale.name == "laptop" else None,
        )
        for seed in range(scale.seeds)
        for task, row in wanted
    ]  # fmt: skip
