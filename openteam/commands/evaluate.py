"""``openteam evaluate``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console

from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.registry import make
from openteam.rollout.episodes import evaluate
from openteam.storage.imports import import_modules
from openteam.storage.policies import check_fits, load
from openteam.storage.run_folder import RunFolder

console = Console()


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Play whole episodes with a trained policy and print their mean return."""

    run: tyro.conf.Positional[Path]
    """Run folder (its last checkpoint) or one checkpoint file."""
    split: str = "train"
    """Condition to play under: train, larger, unseen, or several at once, larger+unseen."""
    episodes: Count = 480
    """How many episodes."""
    seed: int = 0
    """Which episodes."""
    task: str | None = None
    """Another task than the one it was trained on."""
    imports: Imports = ()

    def __call__(self) -> None:
        import_modules(self.imports)
        policy = load(self.run)
        if self.task is not None:
            task = make(self.task)
        else:
            folder = self.run if self.run.is_dir() else self.run.parent.parent
            task = RunFolder.open(folder).build("task")
        check_fits(self.run, task.name, task.spec)
        played = evaluate(policy, task.split(self.split), episodes=self.episodes, seed=self.seed)
        console.print(f"{task.name} {self.split}: return {played}, 95 % interval over episodes", highlight=False)
