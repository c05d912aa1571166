"""``openteam teammates``: make or import learned teammate types, list all types, check the learned ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import tyro

from openteam.catalogue import catalogue, check_task, did_you_mean
from openteam.commands.checks import check_episodes, check_new_run, check_policy, check_tasks
from openteam.commands.count import Count
from openteam.commands.flags import check_flags, parse_flags, split_changes
from openteam.commands.import_teammates import Import
from openteam.commands.importing import Imports
from openteam.drawing.figures import check_picture
from openteam.errors import UserError, check_seed, check_whole
from openteam.registry import short_name
from openteam.storage.imports import import_modules
from openteam.training.settings import Settings

TASKS = [name for name in catalogue().tasks if not name.startswith("probe-")]


@dataclasses.dataclass(frozen=True)
class Add:
    """Make a run's policy a teammate type: one more member of a weights file, with its measured skill."""

    run: tyro.conf.Positional[Path]
    """Run folder of ippo, or of openteam teammates train or clone."""
    name: str
    """What the type is called. A member of that name is replaced."""
    sentence: str = ""
    """How it behaves."""
    checkpoint: Count | None = None
    """Take the policy of this step; by default the last."""
    task: str | None = None
    """Measure its skill among this task's teammates; by default the task it was trained on."""
    weights: str | None = None
    """Name of a shipped file, or path of your own ending in .safetensors; by default the first word of the task."""
    temperature: float = 1.0
    """1 samples actions from the policy, 0 takes the likeliest."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_policy(self.run)
        check_tasks([self.task])
        check_temperature(self.temperature)
        import_modules(self.imports)
        from openteam.commands.teammate_types import add

        add(self)


@dataclasses.dataclass(frozen=True)
class TrainTeammate:
    """Train one policy in all slots of a task at once, then add it to the world's weights file."""

    task: tyro.conf.Positional[str]
    """The task, seen in full by everybody."""
    name: str
    """What the type is called."""
    sentence: str = "Trained with copies of itself."
    """How it behaves."""
    steps: Count = 2_000_000
    """Environment steps, over all environments."""
    seed: Count = 0
    """Same seed, same machine, same teammate."""
    out: Path | None = None
    """Run folder to make; by default runs/teammates/TASK-NAME."""
    among: str | None = None
    """Measure its skill among this task's teammates; by default those of the task."""
    weights: str | None = None
    """As of openteam teammates add."""
    temperature: float = 1.0
    """1 samples actions from the policy, 0 takes the likeliest."""
    checkpoint_every: Count | None = None
    """Steps between checkpoints, each of which can be added as a type; by default a fortieth of the run."""
    changes: tyro.conf.Fixed[tuple[str, ...]] = ()
    """Words of flags such as --algorithm.envs 64."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_tasks([self.task, self.among])
        Settings(self.steps, self.checkpoint_every)
        check_seed(self.seed)
        check_temperature(self.temperature)
        check_new_run(folder_of(self))
        import_modules(self.imports)
        from openteam.commands.teammate_types import train_teammate

        train_teammate(self)


@dataclasses.dataclass(frozen=True)
class Clone:
    """Train a network to do what a teammate type does, then add it to the world's weights file."""

    task: tyro.conf.Positional[str]
    """The task; the type plays in all its slots."""
    type: str
    """The type to clone, a name from the task's pool."""
    name: str
    """What the clone is called."""
    sentence: str | None = None
    """How it behaves; by default, like the type."""
    steps: Count = 1_000_000
    """Environment steps, over all environments."""
    seed: Count = 0
    """Same seed, same machine, same clone."""
    out: Path | None = None
    """Run folder to make; by default runs/teammates/TASK-NAME."""
    weights: str | None = None
    """As of openteam teammates add."""
    temperature: float = 1.0
    """1 samples actions from the policy, 0 takes the likeliest."""
    width: Count = 64
    """Width of all layers; equal in all members of a file."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_task(self.task)
        types = catalogue().tasks[self.task].types if self.task in catalogue().tasks else [self.type]
        if self.type not in types:
            raise UserError(f"'{self.task}' has no type '{self.type}': {', '.join(types)}.")
        Settings(self.steps)
        check_seed(self.seed)
        check_temperature(self.temperature)
        check_whole("--width", self.width, 1, 100_000)
        check_new_run(folder_of(self))
        import_modules(self.imports)
        from openteam.commands.teammate_types import clone

        clone(self)


@dataclasses.dataclass(frozen=True)
class ListTypes:
    """Every teammate type: how it behaves, and its mean return in the learner's slot among the pool's teammates."""

    tasks: tyro.conf.Positional[tuple[str, ...]] = ()
    """Which tasks; by default all but the probes."""
    episodes: Count = 256
    """Episodes to measure a skill with; 0 measures none."""
    imports: Imports = ()

    def __call__(self) -> None:
        check_tasks(self.tasks)
        check_episodes(self.episodes, 0, lowest=0)
        import_modules(self.imports)
        from openteam.commands.teammate_types import list_types

        list_types(self)


@dataclasses.dataclass(frozen=True)
class Check:
    """Fail unless all learned types are there, undamaged, and as skilled as recorded; without names, also unless prey
    and types that stand for the released code's learned ones come near to them."""

    weights: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of shipped files or paths of your own; by default all that are shipped."""
    record: bool = False
    """Record the skills found now, after a pool has changed, instead of comparing."""

    def __call__(self) -> None:
        from openteam.commands.teammate_types import check

        check(self)


@dataclasses.dataclass(frozen=True)
class Duel:
    """FortAttack's types against each other: how often each holds the fort against each."""

    task: tyro.conf.Positional[str] = "fortattack"
    """Whose types and rules."""
    episodes: Count = 256
    """Episodes of each pair."""
    out: Path | None = None
    """Also draw the table there: .png, .svg or .pdf."""

    def __call__(self) -> None:
        check_task(self.task)
        check_episodes(self.episodes, 0)
        if self.out:
            check_picture(self.out)
        from openteam.commands.teammate_types import duel

        duel(self)


def folder_of(flags: TrainTeammate | Clone) -> Path:
    """The run folder of a new teammate."""
    return flags.out or Path("runs") / "teammates" / f"{short_name(flags.task)}-{flags.name}"


def check_temperature(temperature: float) -> None:
    """Raise unless a policy can sample at this temperature."""
    if not 0 <= temperature <= 1000:
        raise UserError(f"--temperature must lie between 0 and 1000; got {temperature}.")


SUBCOMMANDS: dict[str, type] = {
    "train": TrainTeammate,
    "clone": Clone,
    "add": Add,
    "import": Import,
    "list": ListTypes,
    "check": Check,
    "duel": Duel,
}


def parse(words: list[str]) -> Callable[[], None]:
    """The first word chooses what to do."""
    name = words[0] if words else ""
    if name in ("-h", "--help"):
        lines = (f"  openteam teammates {name}: {(cls.__doc__ or '').strip()}" for name, cls in SUBCOMMANDS.items())
        print("The types that teammates can have.\n", *lines, "\nEach has --help.", sep="\n")
        raise SystemExit(0)
    if name not in SUBCOMMANDS:
        hint = did_you_mean(name, SUBCOMMANDS)
        raise UserError(f"openteam teammates needs one of {', '.join(SUBCOMMANDS)}; each has --help.{hint}")
    prog = f"openteam teammates {name}"
    if name != "train":
        return parse_flags(SUBCOMMANDS[name], prog, words[1:])
    words, changes = split_changes(words[1:])
    check_flags(changes, catalogue().algorithms["ippo"].settings, prog)
    return dataclasses.replace(parse_flags(TrainTeammate, prog, words), changes=changes)
