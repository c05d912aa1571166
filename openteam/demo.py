"""``openteam demo``: a learner from nothing to a table, a curve and an animation, in a few minutes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from openteam.algorithms import GPL, QLearning, Schedule
from openteam.core.policy import AbstractPolicy
from openteam.evaluation.curves import draw_curves
from openteam.evaluation.episodes import Episodes, evaluate
from openteam.evaluation.record import record, write_gif
from openteam.registry import make
from openteam.task import Task
from openteam.teammates import Foragers, UniformRandom
from openteam.training.driver import start_training
from openteam.training.progress import ProgressBars
from openteam.training.settings import Settings


@dataclasses.dataclass(frozen=True)
class Demo:
    """Train GPL-Q on Level-Based Foraging, compare it with random and scripted play, draw what happened."""

    out: Path = Path("demo")
    """Folder for the run and the pictures."""
    steps: int = 400_000
    """Environment steps: enough to see it learn, a sixteenth of the paper's."""
    episodes: int = 480
    """Episodes behind every figure of the table."""
    seed: int = 0
    """Another seed, another learner."""

    def __call__(self) -> None:
        console = Console()
        task = make("lbf")
        learner = GPL(rule=QLearning(Schedule(1.0, 0.05, 0.6)), envs=32, learning_rate=1e-3, target_rate=0.004)
        console.print(
            "A learner joins foragers it has never met, who come and go. Training GPL-Q on 'lbf'; at every checkpoint "
            "it plays in teams of up to 3 (train) and up to 5 (larger)."
        )
        settings = Settings(self.steps, max(self.steps // 10, 1), 128)
        training = start_training(task, learner, settings, [self.seed], [self.out / "run"])
        with ProgressBars("lbf") as bars:
            training.run(bars)
        policy = learner.frozen(training.slices()[0].train.model)
        scores = self.compare(task, policy)
        console.print(table_of(scores, task))
        lines = {
            f"{split}:{name}": s.mean for name, row in scores.items() if name != "GPL-Q" for split, s in row.items()
        }
        draw_curves(
            self.out / "learning-curve.png", {"GPL-Q": training.folders}, title="GPL-Q on lbf, greedy", lines=lines
        )
        for split in task.split_names:
            write_gif(
                self.out / f"episode-{split}.gif", task, record(policy, task.split(split), seed=self.seed, best_of=16)
            )
        console.print(f"""
Files   {self.out}/learning-curve.png, {self.out}/episode-train.gif, {self.out}/episode-larger.gif (best of 16),
        {self.out}/run: configuration, rows, checkpoints
Next    openteam evaluate {self.out}/run --split larger --episodes 2000
        openteam train lbf gpl-q --steps 1.6e6 --seeds 2 --out RUN     a longer run, two seeds at once
        openteam train lbf gpl-q --help                                every setting
        openteam list                                                  what else there is""")

    def compare(self, task: Task, policy: AbstractPolicy) -> dict[str, dict[str, Episodes]]:
        """The learner, a random one, and the scripted type that does best in the learner's place, on every split."""

        def play(candidate: AbstractPolicy) -> dict[str, Episodes]:
            return {
                split: evaluate(candidate, task.split(split), episodes=self.episodes, seed=self.seed + 1)
                for split in task.split_names
            }

        family = Foragers()
        scripted = {name: play(family.member(jnp.asarray(n))) for n, name in enumerate(family.names)}
        best = max(scripted, key=lambda name: scripted[name]["train"].mean)
        return {"GPL-Q": play(policy), "random": play(UniformRandom()), f"{best}, the best script": scripted[best]}


def table_of(scores: dict[str, dict[str, Episodes]], task: Task) -> Table:
    """A row per policy, a column per split."""
    title = "Mean return per episode, ± 95 % interval over episodes"
    table = Table("in the learner's place", *task.split_names, title=title)
    for name, row in scores.items():
        table.add_row(name, *(f"{row[split].mean:.2f} ± {row[split].interval:.2f}" for split in task.split_names))
    return table
