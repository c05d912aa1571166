"""``openteam demo``: a learner from nothing to a table, a curve and an animation, in a few minutes."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from openteam.algorithms import GPL
from openteam.api import Run, record, resume
from openteam.core.policy import AbstractPolicy
from openteam.drawing.curves import draw_curves
from openteam.drawing.figures import check_picture
from openteam.drawing.record import write_gif
from openteam.registry import make
from openteam.rollout.episodes import Episodes, evaluate
from openteam.task import Task
from openteam.teammates import Foragers, UniformRandom
from openteam.training.driver import create_run
from openteam.training.settings import Settings

CURVES = "learning-curve.png"


@dataclasses.dataclass(frozen=True)
class Demo:
    """Train GPL-Q on Level-Based Foraging, compare it with random and scripted play, draw what happened."""

    out: Path = Path("demo")
    """Folder for the run and the pictures."""
    steps: int = 320_000
    """Environment steps: enough to see it learn, a twentieth of the paper's."""
    episodes: int = 512
    """Episodes behind every figure of the table."""
    seed: int = 0
    """Another seed, another learner."""

    def __call__(self) -> None:
        check_picture(self.out / CURVES)
        console = Console()
        task = make("lbf")
        # Considering only actions that have an effect, and quicker steps, make a short run worth watching.
        learner = GPL(learning_rate=5e-4, target_rate=0.004, mask_illegal=True)
        console.print(
            "A learner joins foragers it has never met, who come and go. Training GPL-Q on 'lbf'; at every checkpoint "
            "it plays in teams of up to 3 (train) and up to 5 (larger)."
        )
        settings = Settings(self.steps, max(self.steps // 10, 1), 256)
        create_run(task, learner, settings, self.seed, self.out / "run")
        # Training keeps one core busy; the others' scores are found on another meanwhile.
        with ThreadPoolExecutor(1) as other_core:
            others = other_core.submit(self.others, task)
            run = resume(self.out / "run")
            scores = {"GPL-Q": self.play(task, run.policy)} | others.result()
        console.print(table_of(scores, task))
        self.draw(task, run, scores)
        console.print(f"""
Files   {self.out / CURVES}
        {self.out}/episode.gif      an episode of the larger team, the best of 16
        {self.out}/run              configuration, rows, checkpoints
Next    openteam evaluate {self.out}/run --split larger --episodes 2000
        openteam train lbf gpl-q --steps 1.6e6 --seeds 2 --out RUN
        openteam train lbf gpl-q --help     every setting
        openteam list                       what else there is""")

    def play(self, task: Task, policy: AbstractPolicy) -> dict[str, Episodes]:
        """The same episodes' starts for everybody, on every split."""
        return {
            split: evaluate(policy, task.split(split), episodes=self.episodes, seed=self.seed + 1)
            for split in task.split_names
        }

    def others(self, task: Task) -> dict[str, dict[str, Episodes]]:
        """A random learner, and the scripted type that does best in the learner's place."""
        family = Foragers()
        scripted = {name: self.play(task, family.member(jnp.asarray(n))) for n, name in enumerate(family.names)}
        best = max(scripted, key=lambda name: scripted[name]["train"].mean)
        return {f"{best}, the best script": scripted[best], "random": self.play(task, UniformRandom())}

    def draw(self, task: Task, run: Run, scores: dict[str, dict[str, Episodes]]) -> None:
        """The learning curve and an episode."""
        lines = {
            f"{split}:{name}": played.mean
            for name, row in scores.items()
            if name != "GPL-Q"
            for split, played in row.items()
        }
        draw_curves(self.out / CURVES, {"GPL-Q": [run.folder]}, title="GPL-Q on lbf, greedy", lines=lines)
        episode = record(run.policy, task.split("larger"), seed=self.seed, best_of=16)
        write_gif(self.out / "episode.gif", task, episode)


def table_of(scores: dict[str, dict[str, Episodes]], task: Task) -> Table:
    """A row per policy, a column per split."""
    title = "Mean return per episode, ± 95 % interval over episodes"
    table = Table("in the learner's place", *task.split_names, title=title)
    for name, row in scores.items():
        table.add_row(name, *(f"{row[split].mean:.2f} ± {row[split].interval:.2f}" for split in task.split_names))
    return table
