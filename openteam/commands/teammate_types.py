"""What ``openteam teammates`` does: make a policy a teammate type, list types, check them, let them duel."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable
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
from openteam.analysis.yardsticks import measure_all
from openteam.catalogue import catalogue
from openteam.commands.parts import CONFIG
from openteam.commands.running import run_with_bar
from openteam.commands.teammates import TASKS, Add, Check, Clone, Duel, ListTypes, TrainTeammate, folder_of
from openteam.core.learner import AbstractLearner
from openteam.drawing.duels import draw_duels
from openteam.errors import UserError
from openteam.models.policy import NetworkPolicy
from openteam.registry import make
from openteam.storage.checkpoint import read_header
from openteam.storage.imported import is_imported
from openteam.storage.policies import checkpoint_of, load
from openteam.storage.run_folder import RunFolder
from openteam.task import Task
from openteam.teammates.weights_file import SHIPPED, Member, Sizes, Weights, alone, weights_path
from openteam.training.driver import create_run, silent
from openteam.training.settings import Settings
from openteam.views.full import FullView

console = Console()


def add(flags: Add) -> None:
    """Make a run's policy a member of a weights file."""
    folder = RunFolder.open(flags.run)
    path = checkpoint_of(flags.run) if flags.checkpoint is None else folder.checkpoint(flags.checkpoint)
    trained = load(path)
    if not isinstance(trained, NetworkPolicy):
        raise UserError(f"{flags.run} holds no policy network. Runs of ippo and of 'teammates clone' do.")
    policy = NetworkPolicy(trained.network, jnp.asarray(flags.temperature, jnp.float32), trained.masks)
    header, about = read_header(path), folder.about
    task = make(flags.task) if flags.task else folder.build("task")
    spec = header["spec"]
    sizes = Sizes(spec["agent_features"], spec["shared_features"], spec["actions"], len(trained.network.out.weights[0]))
    member = Member(
        name=flags.name,
        sentence=flags.sentence,
        command=shlex.join(map(str, about.get("command", ()))),
        seed=folder.config["seed"],
        steps=header["step"],
        commit=about.get("commit"),
        skill=measure(policy, task),
    )
    target = weights_path(flags.weights or task.name.split("-")[0])
    new = Weights.read(target).adding(member, sizes, policy) if target.exists() else alone(member, sizes, policy)
    new.write(target)
    console.print(f"{target}: {len(new.members)} members. {describe(member)}", highlight=False)


@dataclasses.dataclass(frozen=True)
class Learner:
    """All settings of a learner of teammates."""

    algorithm: PPO


def train_teammate(flags: TrainTeammate) -> None:
    """Train, then add."""
    if flags.among:
        make(flags.among)  # raises before the work rather than after it
    default = Learner(ippo())
    prog = "openteam teammates train"
    learner = tyro.cli(Learner, prog=prog, args=list(flags.changes), default=default, config=CONFIG).algorithm
    run = folder_of(flags)
    train(flags.task, learner, run, Settings(flags.steps, flags.checkpoint_every), flags.seed)
    add(Add(run, flags.name, flags.sentence, None, flags.among, flags.weights, flags.temperature))


def clone(flags: Clone) -> None:
    """Imitate, then add."""
    families = [family for family in make(flags.task).pool.families if flags.type in family.names]
    if not families:
        raise UserError(f"'{flags.task}' has no type '{flags.type}': {', '.join(make(flags.task).pool.names)}.")
    learner = Cloning(teacher=families[0], type=flags.type, width=flags.width)
    run = folder_of(flags)
    train(flags.task, learner, run, Settings(flags.steps), flags.seed)
    sentence = flags.sentence or f"A network that learned to do what {flags.type} does."
    add(Add(run, flags.name, sentence, weights=flags.weights, temperature=flags.temperature))


def list_types(flags: ListTypes) -> None:
    """A table per task."""
    for name in flags.tasks or available(TASKS):
        task = make(name)
        table = Table("type", "split", "skill", "how it behaves", title=name)
        for one in types_of(task):
            played = play_type(one.policy, task, flags.episodes) if flags.episodes > 0 else None
            figure = f"{played.mean:.2f} ± {played.interval:.2f}" if played else "-"
            table.add_row(one.name, one.split, figure, one.sentence)
        console.print(table)


def available(names: Iterable[str]) -> list[str]:
    """The tasks of these names that can be played, which is all but those with agents that were not imported."""
    needs = {name: catalogue().tasks[name].imports for name in names}
    return [name for name, group in needs.items() if group is None or is_imported(group)]


def check(flags: Check) -> None:
    """Measure every learned type again."""
    names = flags.weights or tuple(sorted(path.stem for path in SHIPPED.glob("*.safetensors")))
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
        if flags.record:
            dataclasses.replace(file, members=tuple(members)).write(path)
    if wrong and not flags.record:
        raise UserError(f"{'; '.join(wrong)}. If a pool was changed on purpose: openteam teammates check --record.")
    if not flags.weights:
        check_yardsticks()


def check_yardsticks() -> None:
    """Measure again how near our stand-ins come to the released code's learned agents."""
    missed = []
    for measured in measure_all(make):
        console.print(str(measured), highlight=False)
        missed += [] if measured.holds else [str(measured)]
    if missed:
        raise UserError(f"{'; '.join(missed)}. A world, a type or the prey has changed.")


def duel(flags: Duel) -> None:
    """All pairs of types."""
    task = make(flags.task)
    held = duels(task, episodes=flags.episodes)
    table = Table("guards", *task.pool.names, title="How often the fort is held, by attackers")
    for name, row in zip(task.pool.names, held, strict=True):
        table.add_row(name, *(f"{share:.0%}" for share in row))
    console.print(table)
    if flags.out:
        draw_duels(flags.out, held, task.pool.names)


def train(task: str, learner: AbstractLearner, folder: Path, settings: Settings, seed: int) -> None:
    """Train a policy that sees everything, as teammates do."""
    full: Task = dataclasses.replace(make(task), view=FullView())
    create_run(full, learner, settings, seed, folder)
    run_with_bar([folder], f"{folder.name} on {full.name}", silent)


def describe(member: Member) -> str:
    """A member and what is recorded of its skill."""
    skill = member.skill
    return f"{member.name} scores {skill.mean:.3f} in {skill.task} ({skill.low:.2f} to {skill.high:.2f})"
