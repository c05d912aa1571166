"""``openteam evaluate``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro

from openteam.commands.checks import check_episodes, check_policy, check_split, check_split_of_run, check_tasks
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.storage.imports import import_modules


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Play whole episodes with a trained policy and print their mean return."""

    run: tyro.conf.Positional[Path]
    """Run folder (its last checkpoint) or one checkpoint file."""
    split: str = "train"
    """Condition to play under: train, larger, unseen, or several at once, larger+unseen."""
    episodes: Count = 480
    """How many episodes."""
    seed: Count = 0
    """Which episodes."""
    task: str | None = None
    """Another task than the one it was trained on."""
    released_rule: bool = False
    """Also evaluate as the released code does: 16 environments until the first has finished 5 episodes, so that short
    episodes count more often. For comparison with published numbers, in FortAttack above all."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        import_modules(self.imports)
        from openteam.registry import make_any
        from openteam.rollout.episodes import evaluate
        from openteam.storage.policies import check_fits, load
        from openteam.storage.run_folder import RunFolder

        policy = load(self.run)
        if self.task is not None:
            task = make_any(self.task)
        else:
            folder = self.run if self.run.is_dir() else self.run.parent.parent
            task = RunFolder.open(folder).build("task")
        check_fits(self.run, task.name, task.spec)
        played = evaluate(policy, task.split(self.split), episodes=self.episodes, seed=self.seed)
        print(f"{task.name} {self.split}: return {played}, 95 % interval over episodes")
        if self.released_rule:
            from openteam.analysis.released_rule import evaluate_as_released
            from openteam.analysis.statistics import mean_interval
            from openteam.host.task import compiled

            means = evaluate_as_released(policy, compiled(task.split(self.split)), seed=self.seed)
            mean, half = mean_interval(means)
            print(f"released stop rule: return {mean:.3f} ± {half:.3f}, 95 % interval over {len(means)} evaluations")

    def check(self) -> None:
        """Everything that can be wrong before there is a policy."""
        check_policy(self.run)
        check_episodes(self.episodes, self.seed)
        check_tasks([self.task])
        if self.task is None:
            check_split_of_run(self.run, self.split)
        else:
            check_split(self.task, self.split)
