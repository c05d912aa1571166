"""The command line: every command is a dataclass and one call."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from openteam.core.learner import AbstractLearner
from openteam.errors import UserError
from openteam.evaluation.episodes import evaluate
from openteam.presets import ALGORITHMS
from openteam.registry import make, make_algorithm
from openteam.results.config import from_json
from openteam.results.policies import check_fits, load
from openteam.results.run_folder import RunFolder
from openteam.results.trained import Trained
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.teammates import Pool
from openteam.training.driver import Progress, Report, Training, resume_training, start_training
from openteam.training.loggers import logging_to
from openteam.training.progress import ProgressBars
from openteam.training.seeds import advance_runs, on_accelerator
from openteam.training.settings import Settings

console = Console()


def whole_number(text: str) -> int:
    """6400000 and 6.4e6 alike."""
    number = float(text)
    if number != int(number):
        raise ValueError(f"{text} is not a whole number")
    return int(number)


Count = Annotated[
    int,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: whole_number(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]


@dataclasses.dataclass(frozen=True)
class Train:
    """Train a learner on a task and keep everything in a run folder."""

    out: Path
    """Run folder to make. With several seeds, one folder seed-N in it for each."""
    task: Task
    algorithm: AbstractLearner
    steps: Count = Settings.steps
    """Environment steps, over all environments; 6.4e6 is the paper's length."""
    seed: int = 0
    """The first (or only) seed: same seed, same machine, same result."""
    seeds: int = 1
    """How many seeds. On a CPU each gets a process of its own, pinned to a core."""
    checkpoint_every: Count | None = None
    """Steps between checkpoints; by default a fortieth of the run, but not less than 20,000."""
    evaluation_episodes: Count = Settings.evaluation_episodes
    """Episodes per split at every checkpoint."""
    teammates: tuple[Path, ...] = ()
    """Trained runs that join the pool of teammates, with networks of one size."""
    log: Literal["none", "tensorboard", "wandb", "trackio"] = "none"
    """Also send metrics there. The run folder has them in any case."""

    def __call__(self) -> None:
        if self.seeds < 1:
            raise UserError(f"--seeds must be at least 1; got {self.seeds}.")
        settings = Settings(self.steps, self.checkpoint_every, self.evaluation_episodes)
        numbers = range(self.seed, self.seed + self.seeds)
        folders = [self.out] if self.seeds == 1 else [self.out / f"seed-{number}" for number in numbers]
        task = with_teammates(self.task, self.teammates)
        training = start_training(task, self.algorithm, settings, numbers, folders)
        label = task.name
        with logging_to(self.log, folders) as logger:
            if self.seeds == 1 or on_accelerator():
                go_on(training, label, logger)
            else:
                with ProgressBars(label) as bars:
                    interruptible(lambda: advance_runs(folders, both(bars, logger)), folders)
        console.print(f"Finished: {self.out}")
        console.print(f"Try: openteam evaluate {folders[0]} --split {self.task.split_names[-1]} --episodes 480")


@dataclasses.dataclass(frozen=True)
class Resume:
    """Go on with a run that was interrupted, to the result it would have had."""

    run: tyro.conf.Positional[Path]
    """Run folder; or a folder of runs made with --seeds."""
    log: Literal["none", "tensorboard", "wandb", "trackio"] = "none"
    """Also send metrics there."""

    def __call__(self) -> None:
        folders = [self.run]
        if not (self.run / "config.json").exists():
            folders = sorted(path.parent for path in self.run.glob("*/config.json")) or folders
        with logging_to(self.log, folders) as logger:
            if len(folders) == 1:
                training = resume_training(folders[0])
                go_on(training, training.task.name, logger)
            else:
                with ProgressBars(self.run.name) as bars:
                    interruptible(lambda: advance_runs(folders, both(bars, logger)), folders)
        console.print(f"Finished: {self.run}")


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

    def __call__(self) -> None:
        policy = load(self.run)
        if self.task is not None:
            task = make(self.task)
        else:
            folder = self.run if self.run.is_dir() else self.run.parent.parent
            task = from_json(RunFolder.open(folder).config["task"])
        check_fits(self.run, task)
        played = evaluate(policy, task.split(self.split), episodes=self.episodes, seed=self.seed)
        console.print(f"{task.name} {self.split}: return {played}, 95 % interval over episodes", highlight=False)


@dataclasses.dataclass(frozen=True)
class List:
    """What there is: tasks with their splits, and algorithms."""

    what: tyro.conf.Positional[Literal["all", "tasks", "algorithms"]] = "all"
    """Which of it."""

    def __call__(self) -> None:
        if self.what in ("all", "tasks"):
            table = Table("task", "splits", "what it is", title="Tasks")
            for name, build in TASKS.items():
                table.add_row(name, ", ".join(build().split_names), first_line(build))
            console.print(table)
            console.print("Their teammates: openteam teammates list TASK")
        if self.what in ("all", "algorithms"):
            table = Table("algorithm", "what it is", title="Algorithms")
            for name, build in ALGORITHMS.items():
                table.add_row(name, first_line(build))
            console.print(table)
        console.print("All settings of a pair: openteam train lbf gpl-q --help")


def with_teammates(task: Task, runs: Sequence[Path]) -> Task:
    """The task with trained runs in its pool."""
    if not runs:
        return task
    for run in runs:
        check_fits(run, task)
    pool = Pool((*task.pool.families, Trained(tuple(map(str, runs)))))
    return dataclasses.replace(task, pool=pool)


def first_line(function: Callable) -> str:
    """What a function says of itself."""
    return (function.__doc__ or "").splitlines()[0]


def go_on(training: Training, label: str, logger: Report) -> None:
    """Run in this process, with a bar."""
    with ProgressBars(label) as bars:
        interruptible(lambda: training.run(both(bars, logger)), [folder.path for folder in training.folders])


def both(first: Report, second: Report) -> Report:
    """Report to two."""

    def report(progress: Progress) -> None:
        first(progress)
        second(progress)

    return report


def interruptible(work: Callable[[], None], folders: Sequence[Path]) -> None:
    """On Ctrl-C, say how to go on: the state is already written."""
    try:
        work()
    except KeyboardInterrupt:
        target = folders[0] if len(folders) == 1 else folders[0].parent
        raise UserError(f"Interrupted; nothing is lost. To go on: openteam resume {target}") from None


def parse_train(words: list[str]) -> Train:
    """``TASK ALGORITHM`` choose the defaults that all other flags change."""
    names = words[:2] if len(words) >= 2 and not any(word.startswith("-") for word in words[:2]) else None
    if names is None and not {"-h", "--help"} & set(words):
        raise UserError(
            f"openteam train needs a task and an algorithm, as in: openteam train lbf gpl-q --out RUN. "
            f"Tasks: {', '.join(TASKS)}. Algorithms: {', '.join(ALGORITHMS)}."
        )
    task, algorithm = names or ("lbf", "gpl-q")
    default = Train(Path("runs") / f"{task}-{algorithm}", make(task), make_algorithm(algorithm))
    return tyro.cli(
        Train, prog=f"openteam train {task} {algorithm}", args=words[2:] if names else words, default=default,
        config=(tyro.conf.AvoidSubcommands,),
    )  # fmt: skip


def parse(command: type) -> Callable[[list[str]], Callable[[], None]]:
    """A parser of one command's words."""
    return lambda words: tyro.cli(command, prog=f"openteam {command.__name__.lower()}", args=words)


def parse_later(module: str, name: str) -> Callable[[list[str]], Callable[[], None]]:
    """The same of a command that is imported only when asked for."""
    return lambda words: parse(getattr(importlib.import_module(module), name))(words)


def parse_teammates(words: list[str]) -> Callable[[], None]:
    """A word of its own chooses what to do with teammates."""
    return importlib.import_module("openteam.teammates_command").parse_teammates(words)


COMMANDS: dict[str, tuple[Callable[[list[str]], Callable[[], None]], str]] = {
    "train": (parse_train, "train TASK ALGORITHM --out RUN: train a learner; --help lists every setting"),
    "resume": (parse(Resume), "resume RUN: go on with an interrupted run"),
    "evaluate": (parse(Evaluate), "evaluate RUN --split larger --episodes 480: returns of a trained policy"),
    "list": (parse(List), "list: tasks, splits, algorithms"),
    "record": (
        parse_later("openteam.record_command", "Record"),
        "record TASK --policy RUN --out x.gif: watch an episode; .mp4 too, and .png for a sheet of frames",
    ),
    "compare": (
        parse_later("openteam.compare_command", "Compare"),
        "compare RUNS --curves x.png: means and intervals over seeds beside the paper's, learning curves",
    ),
    "beliefs": (
        parse_later("openteam.beliefs_command", "Beliefs"),
        "beliefs RUNS --curves x.png: what runs believe about what they cannot see, against the truth",
    ),
    "plan": (
        parse_later("openteam.plan_command", "Plan"),
        "plan FILE: many runs at once, one per core; skips what is finished, resumes what is not",
    ),
    "teammates": (parse_teammates, "teammates list|check|train|clone|add: the types that teammates can have"),
    "bench": (
        parse_later("openteam.bench.command", "Bench"),
        "bench: speed, as ratios to plain matrix products on this machine",
    ),
    "demo": (parse_later("openteam.demo", "Demo"), "demo: train, evaluate and draw, in a few minutes"),
}


def usage() -> str:
    """All commands, a line each."""
    lines = "\n".join(f"  openteam {text}" for _, text in COMMANDS.values())
    return f"Open ad hoc teamwork: agents that join teams they have never met.\n\n{lines}\n\nEach has --help."


def run(words: list[str]) -> int:
    """Run one command; the exit code."""
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0
    try:
        if words[0] not in COMMANDS:
            close = get_close_matches(words[0], COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise UserError(f"There is no command '{words[0]}'.{hint} Commands: {', '.join(COMMANDS)}.")
        COMMANDS[words[0]][0](words[1:])()
    except UserError as error:
        print(f"openteam: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("openteam: interrupted.", file=sys.stderr)
        return 2
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
    return 0
