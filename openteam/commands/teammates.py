"""``openteam teammates``: make learned teammate types, list all types, check the learned ones."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import tyro
from rich.console import Console
from rich.table import Table

from openteam.algorithms.cloning import Cloning
from openteam.algorithms.ppo import PPO
from openteam.algorithms.presets import ippo
from openteam.analysis.duels import duels
from openteam.analysis.skills import measure, play_type, types_of
from openteam.commands.count import Count
from openteam.commands.importing import Imports
from openteam.commands.running import run_with_bar
from openteam.core.learner import AbstractLearner
from openteam.drawing.duels import draw_duels
from openteam.drawing.figures import check_picture
from openteam.errors import UserError
from openteam.models.policy import NetworkPolicy
from openteam.registry import make, short_name
from openteam.storage.checkpoint import read_header
from openteam.storage.imports import import_modules
from openteam.storage.policies import checkpoint_of, load
from openteam.storage.run_folder import RunFolder
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.teammates.weights_file import SHIPPED, Member, Sizes, Weights, alone, weights_path
from openteam.training.driver import create_run, silent
from openteam.training.settings import Settings
from openteam.views.full import FullView

console = Console()


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
        import_modules(self.imports)
        folder = RunFolder.open(self.run)
        path = checkpoint_of(self.run) if self.checkpoint is None else folder.checkpoint(self.checkpoint)
        trained = load(path)
        if not isinstance(trained, NetworkPolicy):
            raise UserError(f"{self.run} holds no policy network. Runs of ippo and of 'teammates clone' do.")
        policy = NetworkPolicy(trained.network, jnp.asarray(self.temperature, jnp.float32), trained.masks)
        header, about = read_header(path), folder.about
        task = make(self.task) if self.task else folder.build("task")
        spec = header["spec"]
        sizes = Sizes(
            spec["agent_features"], spec["shared_features"], spec["actions"], len(trained.network.out.weights[0])
        )
        member = Member(
            name=self.name,
            sentence=self.sentence,
            command=shlex.join(map(str, about.get("command", ()))),
            seed=folder.config["seed"],
            steps=header["step"],
            commit=about.get("commit"),
            skill=measure(policy, task),
        )
        target = weights_path(self.weights or task.name.split("-")[0])
        new = Weights.read(target).adding(member, sizes, policy) if target.exists() else alone(member, sizes, policy)
        new.write(target)
        console.print(f"{target}: {len(new.members)} members. {describe(member)}", highlight=False)


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
    seed: int = 0
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
    algorithm: PPO = dataclasses.field(default_factory=ippo)
    imports: Imports = ()

    def __call__(self) -> None:
        import_modules(self.imports)
        settings = Settings(self.steps, self.checkpoint_every)
        run = train(self.task, self.algorithm, self.name, settings, self.seed, self.out)
        Add(run, self.name, self.sentence, None, self.among, self.weights, self.temperature)()


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
    seed: int = 0
    """Same seed, same machine, same clone."""
    out: Path | None = None
    """Run folder to make; by default runs/teammates/TASK-NAME."""
    weights: str | None = None
    """As of openteam teammates add."""
    temperature: float = 1.0
    """1 samples actions from the policy, 0 takes the likeliest."""
    width: int = Cloning.width
    """Width of all layers; equal in all members of a file."""
    imports: Imports = ()

    def __call__(self) -> None:
        import_modules(self.imports)
        families = [family for family in make(self.task).pool.families if self.type in family.names]
        if not families:
            raise UserError(f"'{self.task}' has no type '{self.type}': {', '.join(make(self.task).pool.names)}.")
        learner = Cloning(teacher=families[0], type=self.type, width=self.width)
        run = train(self.task, learner, self.name, Settings(self.steps), self.seed, self.out)
        sentence = self.sentence or f"A network that learned to do what {self.type} does."
        Add(run, self.name, sentence, weights=self.weights, temperature=self.temperature)()


@dataclasses.dataclass(frozen=True)
class ListTypes:
    """Every teammate type: how it behaves, and its mean return in the learner's slot among the pool's teammates."""

    tasks: tyro.conf.Positional[tuple[str, ...]] = ()
    """Which tasks; by default all but the probes."""
    episodes: int = 256
    """Episodes to measure a skill with; 0 measures none."""
    imports: Imports = ()

    def __call__(self) -> None:
        import_modules(self.imports)
        for name in self.tasks or [name for name in TASKS if not name.startswith("probe-")]:
            task = make(name)
            table = Table("type", "split", "skill", "how it behaves", title=name)
            for one in types_of(task):
                played = play_type(one.policy, task, self.episodes) if self.episodes > 0 else None
                figure = f"{played.mean:.2f} ± {played.interval:.2f}" if played else "-"
                table.add_row(one.name, one.split, figure, one.sentence)
            console.print(table)


@dataclasses.dataclass(frozen=True)
class Check:
    """Fail unless all learned types are there, undamaged, and as skilled as recorded."""

    weights: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of shipped files or paths of your own; by default all that are shipped."""
    record: bool = False
    """Record the skills found now, after a pool has changed, instead of comparing."""

    def __call__(self) -> None:
        names = self.weights or tuple(sorted(path.stem for path in SHIPPED.glob("*.safetensors")))
        if not names:
            raise UserError(f"There are no learned teammates in {SHIPPED}. 'openteam teammates train' makes some.")
        wrong = []
        for name in names:
            path = weights_path(name)
            file = Weights.read(path)
            members = []
            for place, member in enumerate(file.members):
                old = member.skill
                new = measure(file.policy(place), make(old.task), old.episodes)
                console.print(f"{name}: {describe(member)}, now {new.mean:.3f}", highlight=False)
                if not old.low <= new.mean <= old.high:
                    wrong.append(f"{member.name} of {path} scores {new.mean} outside {old.low} to {old.high}")
                members.append(dataclasses.replace(member, skill=new))
            if self.record:
                dataclasses.replace(file, members=tuple(members)).write(path)
        if wrong and not self.record:
            raise UserError(f"{'; '.join(wrong)}. If a pool was changed on purpose: openteam teammates check --record.")


@dataclasses.dataclass(frozen=True)
class Duel:
    """FortAttack's types against each other: how often each holds the fort against each."""

    task: tyro.conf.Positional[str] = "fortattack"
    """Whose types and rules."""
    episodes: int = 256
    """Episodes of each pair."""
    out: Path | None = None
    """Also draw the table there: .png, .svg or .pdf."""

    def __call__(self) -> None:
        if self.out:
            check_picture(self.out)
        task = make(self.task)
        held = duels(task, episodes=self.episodes)
        table = Table("guards", *task.pool.names, title="How often the fort is held, by attackers")
        for name, row in zip(task.pool.names, held, strict=True):
            table.add_row(name, *(f"{share:.0%}" for share in row))
        console.print(table)
        if self.out:
            draw_duels(self.out, held, task.pool.names)


def train(task: str, learner: AbstractLearner, name: str, settings: Settings, seed: int, out: Path | None) -> Path:
    """A run whose policy sees everything, as teammates do; its folder."""
    full: Task = dataclasses.replace(make(task), view=FullView())
    folder = out or Path("runs") / "teammates" / f"{short_name(task)}-{name}"
    create_run(full, learner, settings, seed, folder)
    run_with_bar([folder], full.name, silent)
    return folder


def describe(member: Member) -> str:
    """A member and what is recorded of its skill."""
    skill = member.skill
    return f"{member.name} scores {skill.mean:.3f} in {skill.task} ({skill.low:.2f} to {skill.high:.2f})"


SUBCOMMANDS: dict[str, type] = {
    "train": TrainTeammate,
    "clone": Clone,
    "add": Add,
    "list": ListTypes,
    "check": Check,
    "duel": Duel,
}


def parse(words: list[str]) -> Callable[[], None]:
    """The first word chooses what to do."""
    if not words or words[0] not in SUBCOMMANDS:
        raise UserError(f"openteam teammates needs one of {', '.join(SUBCOMMANDS)}; each has --help.")
    return tyro.cli(
        SUBCOMMANDS[words[0]], prog=f"openteam teammates {words[0]}", args=words[1:],
        config=(tyro.conf.AvoidSubcommands,),
    )  # fmt: skip
