"""``openteam record``: watch a task being played."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from openteam.catalogue import catalogue
from openteam.commands.checks import check_episodes, check_policy, check_split, check_split_of_run, check_suffix
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.errors import UserError, check_whole
from openteam.registry import make
from openteam.storage.imports import import_modules
from openteam.training.settings import MOST_STEPS

if TYPE_CHECKING:
    from openteam.core.policy import AbstractPolicy
    from openteam.task import Task

SUFFIXES = (".gif", ".mp4", ".png")


@dataclasses.dataclass(frozen=True)
class Record:
    """Play episodes and draw them: the learner marked, what it sees bright, what it cannot see dimmed."""

    task: tyro.conf.Positional[str]
    """Which task; openteam list names them. Or a run folder or checkpoint, which then plays its own task."""
    out: Path
    """File to write: .gif, .mp4, or .png for a sheet of frames."""
    policy: tuple[str, ...] = ()
    """Who is the learner: a run folder, a checkpoint, or one of the task's teammate types such as H3, which sees
    everything. Several play the same episodes, one after the other. Without it a run plays itself, and in a task that
    is named the learner acts at random."""
    split: str = "train"
    """Condition to play under: train, larger, ..."""
    seed: Count = 0
    """Which episodes."""
    episodes: Count = 1
    """How many, one after the other."""
    steps: Count | None = None
    """Show only this many steps of an episode, from its start."""
    frames: Count = 12
    """Frames of an episode on a .png, evenly spaced."""
    belief: bool = False
    """Draw what the learner believes: a ghost wherever it thinks that a teammate is, as opaque as it is sure. For runs
    of ae-gpl, vae-gpl and pf-gpl."""
    imports: Imports = ()

    def __call__(self) -> None:
        self.check()
        import_modules(self.imports)
        task = self.find_task().split(self.split)
        from openteam.drawing.record import record_all, write_recordings
        from openteam.views import FullView

        policies = self.policy or ((self.task,) if self.of_run else (None,))
        if any(name in task.pool.names for name in self.policy):
            task = dataclasses.replace(task, view=FullView())  # as teammates see
        recordings = [
            recording.until(self.steps or task.horizon)
            for name in policies
            for recording in record_all(
                find_policy(name, task),
                task,
                seed=self.seed,
                episodes=self.episodes,
                learner=caption_of(name, task),
                belief=self.belief,
            )
        ]
        write_recordings(self.out, task, recordings, self.frames)
        returns = ", ".join(f"{recording.total:.4g}" for recording in recordings)
        print(f"{self.out}: {task.name} {self.split}, return {returns}")

    @property
    def of_run(self) -> bool:
        """Whether the task is that of a run."""
        return self.task not in catalogue().tasks and Path(self.task).exists()

    def find_task(self) -> Task:
        if not self.of_run:
            return make(self.task)
        from openteam.api import task_of_run
        from openteam.host.task import compiled

        return compiled(task_of_run(Path(self.task)))

    def check(self) -> None:
        """Everything that can be wrong before there is a task."""
        check_suffix("A recording is written", self.out, SUFFIXES)
        check_episodes(self.episodes, self.seed)
        check_whole("--steps", 1 if self.steps is None else self.steps, 1, MOST_STEPS)
        check_whole("--frames", self.frames, 1, MOST_STEPS)
        if self.of_run:
            check_policy(Path(self.task))
            check_split_of_run(Path(self.task), self.split)
        check_split(self.task, self.split)
        entry = catalogue().tasks.get(self.task)
        if entry is None:  # in a module of the user's, or nowhere: the registry says so
            return
        if not entry.drawable:
            raise UserError(f"The world of '{self.task}' cannot be drawn. openteam list says which can.")
        for name in self.policy:
            if name not in entry.types:
                check_player(name, self.task, entry.types)


def check_player(name: str, task: str, types: Sequence[str]) -> None:
    """Raise unless a name that is none of a task's types is a path to a policy."""
    if not Path(name).exists():
        raise UserError(
            f"There is no run '{name}', and '{task}' has no teammate type of that name. Give a run folder, a "
            f"checkpoint, or one of: {', '.join(types)}."
        )
    check_policy(Path(name))


def caption_of(name: str | None, task: Task) -> str:
    """What stands above a picture: a type's name, or the last two folders of a run, such as gpl-q/seed-0."""
    if name is None or name in task.pool.names:
        return name or ""
    path = Path(name).resolve()
    run = path.parents[1] if path.is_file() else path
    return "/".join(run.parts[-2:])


def find_policy(name: str | None, task: Task) -> AbstractPolicy:
    """A random learner, a type of the task's own pool, or a trained policy."""
    import jax.numpy as jnp

    from openteam.storage.policies import check_fits, load
    from openteam.teammates import UniformRandom

    if name is None:
        return UniformRandom()
    for family in task.pool.families:
        if name in family.names:
            return family.member(jnp.asarray(family.names.index(name)))
    check_player(name, task.name, task.pool.names)
    check_fits(name, task.name, task.spec)
    return load(name)
