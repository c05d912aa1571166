"""What ``openteam demo`` does: a learner from nothing to a table, a curve and an animation."""

from __future__ import annotations

import dataclasses
import shlex
from concurrent.futures import ThreadPoolExecutor

import equinox as eqx
import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from openteam.algorithms import GPL
from openteam.api import Run, record, resume
from openteam.commands.demo import CURVES, Demo
from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.drawing.curves import draw_curves
from openteam.drawing.record import write_gif
from openteam.registry import make
from openteam.rollout.episodes import Episodes, evaluate
from openteam.task import Task
from openteam.teammates import Foragers, UniformRandom
from openteam.training.driver import create_run
from openteam.training.progress import ProgressBars
from openteam.training.settings import Settings


def demonstrate(demo: Demo) -> None:
    """Train, compare, draw, and say what to try next."""
    console = Console()
    task = make("lbf")
    task = dataclasses.replace(task, splits={"larger": task.splits["larger"]})
    # Considering only actions that have an effect, and quicker steps, make a short run worth watching.
    learner = GPL(learning_rate=5e-4, target_rate=0.004, mask_illegal=True)
    console.print(
        "A learner joins foragers it has never met, who come and go. Training GPL-Q on 'lbf'; at every checkpoint "
        "it plays in teams of up to 3 (train) and up to 5 (larger)."
    )
    settings = Settings(demo.steps, max(demo.steps // 10, 1), 256)
    create_run(task, learner, settings, demo.seed, demo.out / "run")
    # Training keeps one core busy. Meanwhile, on another, what plays checkpoints is compiled and the others are scored.
    with ThreadPoolExecutor(1) as other_core:
        of_others = other_core.submit(compile_and_score, demo, task, learner)
        with ProgressBars("gpl-q on lbf") as bars:
            run = resume(demo.out / "run", progress=False, report=bars)
        scores = {"GPL-Q": play(demo, task, run.policy)} | of_others.result()
    console.print(table_of(scores, task))
    draw(demo, task, run, scores)
    print(f"""
Files   {demo.out / CURVES}
        {demo.out}/episode.gif      an episode of the larger team, the best of 16
        {demo.out}/run              configuration, rows, checkpoints
Next    openteam evaluate {shlex.quote(f"{demo.out}/run")} --split larger --episodes 2000
        openteam train lbf gpl-q --steps 1.6e6 --seeds 2 --out RUN
        openteam train lbf gpl-q --help     the settings that people change first
        openteam list                       what else there is""")


def compile_and_score(demo: Demo, task: Task, learner: AbstractLearner) -> dict[str, dict[str, Episodes]]:
    """The others' scores; before that a policy like the learner's plays, so that what plays checkpoints is compiled."""
    play(demo, task, blank_policy(task, learner))
    return others(demo, task)


def blank_policy(task: Task, learner: AbstractLearner) -> AbstractPolicy:
    """Like the learner's, all parameters zero: the same program plays both."""
    shapes = eqx.filter_eval_shape(learner.init, make_key(0), task.spec)
    return learner.frozen(jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes.model))


def play(demo: Demo, task: Task, policy: AbstractPolicy) -> dict[str, Episodes]:
    """The same episodes' starts for everybody, on every split."""
    return {
        split: evaluate(policy, task.split(split), episodes=demo.episodes, seed=demo.seed + 1)
        for split in task.split_names
    }


def others(demo: Demo, task: Task) -> dict[str, dict[str, Episodes]]:
    """A random learner, and the scripted type that does best in the learner's place."""
    family = Foragers()
    scripted = {name: play(demo, task, family.member(jnp.asarray(n))) for n, name in enumerate(family.names)}
    best = max(scripted, key=lambda name: scripted[name]["train"].mean)
    return {f"{best}, the best script": scripted[best], "random": play(demo, task, UniformRandom())}


def draw(demo: Demo, task: Task, run: Run, scores: dict[str, dict[str, Episodes]]) -> None:
    """The learning curve and an episode."""
    lines = {
        f"{split}:{name}": played.mean
        for name, row in scores.items()
        if name != "GPL-Q"
        for split, played in row.items()
    }
    draw_curves(demo.out / CURVES, {"GPL-Q": [run.folder]}, title="GPL-Q on lbf, greedy", lines=lines)
    episode = record(run.policy, task.split("larger"), seed=demo.seed, best_of=16)
    write_gif(demo.out / "episode.gif", task, episode)


def table_of(scores: dict[str, dict[str, Episodes]], task: Task) -> Table:
    """A row per policy, a column per split."""
    title = "Mean return per episode, ± 95 % interval over episodes"
    table = Table("in the learner's place", *task.split_names, title=title)
    for name, row in scores.items():
        table.add_row(name, *(f"{row[split].mean:.2f} ± {row[split].interval:.2f}" for split in task.split_names))
    return table
