"""What a server can show: one run, one task, or all runs below a folder. Pages name runs by number, never by path."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from openteam.api import find_player
from openteam.core.policy import AbstractPolicy
from openteam.errors import UserError
from openteam.registry import make
from openteam.storage import policies
from openteam.storage.run_folder import RunFolder
from openteam.task import Task
from openteam.teammates import UniformRandom
from openteam.viewer.episode import Episode
from openteam.viewer.stage import Player, Stage
from openteam.viewer.what_if import read_changes

KEPT = 4  # stages in memory
FIRST_FRAME = 1.0  # seconds that it gets before other programs are prepared beside it


@dataclass(frozen=True)
class Choice:
    """What a page wants to watch."""

    run: int = 0
    step: int | None = None
    split: str = "train"
    against: int | None = None


@dataclass
class Library:
    """Runs, and stages made of them. Without runs there is one task, in which the learner acts at random."""

    runs: list[Path]
    task: str | None = None
    first: Choice = Choice()
    """What is shown to a page that does not choose."""
    is_gallery: bool = False
    """There is a page with all runs."""
    opened: dict[Choice, Stage] = field(default_factory=dict)
    compiled: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, choice: Choice) -> Stage:
        """A stage, made once."""
        with self.lock:
            if choice not in self.opened:
                self.opened[choice] = self.build(choice)
                for old in list(self.opened)[:-KEPT]:
                    del self.opened[old]
            return self.opened[choice]

    def compile(self, stage: Stage) -> None:
        """Have what the first frame needs, and behind it what steps and questions need. Pages do not compile twice."""
        with self.lock:
            episode = Episode.start(stage.task, stage.player, 0)
        if id(stage) not in self.compiled:
            self.compiled.add(id(stage))
            later = threading.Timer(FIRST_FRAME, warm_up, (episode,))
            later.daemon = True
            later.start()

    def build(self, choice: Choice) -> Stage:
        if self.task is not None:
            whole = make(self.task)
            player = Player("a learner that acts at random", UniformRandom())
            return Stage(whole.split(choice.split), player, choice.split, splits=whole.split_names)
        path = self.path(choice.run)
        folder = path if path.is_dir() else path.parent.parent
        steps = tuple(int(checkpoint.stem) for checkpoint in RunFolder(folder).policies)
        policy, task, step = self.load(path, choice, steps)
        rival = None
        if choice.against is not None:
            other = self.path(choice.against)
            rival = Player(name_of(other), find_player(str(other), task, "train", "watch")[0])
        names = ("train", *RunFolder(folder).config["task"]["splits"])
        return Stage(task, Player(name_of(path), policy), choice.split, rival, names, steps, step)

    def load(self, path: Path, choice: Choice, steps: tuple[int, ...]) -> tuple[AbstractPolicy, Task, int]:
        """The policy of a checkpoint, by default the last, its task and its step."""
        if choice.step is not None:
            if choice.step not in steps:
                raise UserError(
                    f"This run has no checkpoint at step {choice.step}. It has: {', '.join(map(str, steps))}."
                )
            path = RunFolder(path if path.is_dir() else path.parent.parent).checkpoint(choice.step)
        policy, task, _ = find_player(str(path), None, choice.split, "watch")
        return policy, task, policies.policy_header(path)[1]["step"]

    def path(self, number: int) -> Path:
        if not 0 <= number < len(self.runs):
            raise UserError(f"There is no run {number}; there are {len(self.runs)}.")
        return self.runs[number]


def warm_up(episode: Episode) -> None:
    """One step and one question."""
    episode.step()
    someone = [slot for slot in episode.frames[0]["present"] if slot > 0]
    episode.ask(0, read_changes(episode.task, episode.at(0), [{"remove": slot} for slot in someone[:1]]))


def name_of(run: Path) -> str:
    """The last two folders of a run, such as gpl-q/seed-0."""
    path = run.resolve()
    return "/".join((path.parents[1] if path.is_file() else path).parts[-2:])
