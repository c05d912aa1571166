"""``openteam record``: watch a task being played."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax.numpy as jnp
import tyro
from rich.console import Console

from openteam.api import task_of_run
from openteam.commands.importing import Imports
from openteam.core.policy import AbstractPolicy
from openteam.drawing.record import SHEET_FRAMES, record_all, write_recordings
from openteam.errors import UserError
from openteam.registry import make
from openteam.storage.imports import import_modules
from openteam.storage.policies import check_fits, load
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.teammates import UniformRandom
from openteam.views import FullView


@dataclasses.dataclass(frozen=True)
class Record:
    """Play episodes and draw them: the learner marked, what it sees bright, what it cannot see dimmed."""

    task: tyro.conf.Positional[str]
    """Which task; openteam list names them. Or a run folder or checkpoint, which then plays its own task."""
    out: Path
    """File to write: .gif, .mp4, or .png for a sheet of frames."""
    policy: tuple[str, ...] = ()
    """Who is the learner: a run folder, a checkpoint, or one of the task's teammate types such as H3, which sees
    everything. Several play the same episodes, one after the other. Without it a run plays itself,
    and in a task that is named the learner acts at random."""
    split: str = "train"
    """Condition to play under: train, larger, ..."""
    seed: int = 0
    """Which episodes."""
    episodes: int = 1
    """How many, one after the other."""
    steps: int | None = None
    """Show only this many steps of an episode, from its start."""
    frames: int = SHEET_FRAMES
    """Frames of an episode on a .png, evenly spaced."""
    belief: bool = False
    """Draw what the learner believes: a ghost wherever it thinks that a teammate is, as opaque as it is sure. For runs
    of ae-gpl, vae-gpl and pf-gpl."""
    imports: Imports = ()

    def __call__(self) -> None:
        import_modules(self.imports)
        run = Path(self.task) if Path(self.task).exists() and self.task not in TASKS else None
        task = (make(self.task) if run is None else task_of_run(run)).split(self.split)
        policies = self.policy or ((None,) if run is None else (self.task,))
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
        Console().print(f"{self.out}: {task.name} {self.split}, return {returns}", highlight=False)


def caption_of(name: str | None, task: Task) -> str:
    """What stands above a picture: a type's name, or the last two folders of a run, such as gpl-q/seed-0."""
    if name is None or name in task.pool.names:
        return name or ""
    path = Path(name).resolve()
    run = path.parents[1] if path.is_file() else path
    return "/".join(run.parts[-2:])


def find_policy(name: str | None, task: Task) -> AbstractPolicy:
    """A random learner, a type of the task's own pool, or a trained policy."""
    if name is None:
        return UniformRandom()
    for family in task.pool.families:
        if name in family.names:
            return family.member(jnp.asarray(family.names.index(name)))
    if not Path(name).exists():
        raise UserError(
            f"There is no run '{name}', and '{task.name}' has no teammate type of that name. Give a run folder, a "
            f"checkpoint, or one of: {', '.join(task.pool.names)}."
        )
    check_fits(name, task.name, task.spec)
    return load(name)
