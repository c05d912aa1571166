"""Runs: train, evaluate at checkpoints, write, resume.

A run is a pure function of task, learner, settings and seed, cut into stretches between which it can be watched and
written down. Where the cuts fall changes nothing, so a killed run that is resumed ends where an unkilled one does.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from openteam.compile_cache import give_memory_back, giving_memory_back, once_jit, use_compile_cache
from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.errors import UserError
from openteam.rollout.belief_scores import belief_scores, holds_belief
from openteam.rollout.episodes import evaluate
from openteam.storage.checkpoint import load_tree, read_header, save_tree
from openteam.storage.config import from_json, to_json
from openteam.storage.policies import save_policy
from openteam.storage.run_folder import ROW_FILES, RunFolder
from openteam.task import Task
from openteam.training.loop import Carry, advance, start_carry
from openteam.training.settings import ROWS_PER_CHECKPOINT, Settings


@dataclasses.dataclass(frozen=True)
class Progress:
    """What there is to show while a run goes on."""

    seed: int
    step: int
    steps: int
    steps_per_second: float | None = None
    train_return: float | None = None
    evaluation: dict[str, float] | None = None
    metrics: dict[str, float | None] | None = None


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Show nothing."""
    del progress


class Run:
    """A finished or interrupted run: its folder and the policy of its last checkpoint."""

    def __init__(self, folder: RunFolder, policy: AbstractPolicy):
        self.folder = folder
        self.policy = policy


class Training:
    """One or several seeds on their way. Several are batched with ``vmap``, which pays on an accelerator."""

    def __init__(
        self, task: Task, learner: AbstractLearner, settings: Settings, seeds: Sequence[int], folders: list[RunFolder]
    ):
        use_compile_cache()
        self.task, self.learner, self.settings = task, learner, settings
        self.seeds, self.folders = list(seeds), folders
        self.chunk = learner.envs * learner.update_every
        self.total = settings.updates(self.chunk)
        self.interval = settings.interval(self.chunk)
        self.keys = jnp.stack([make_key(seed) for seed in seeds])
        self.alone = len(self.seeds) == 1
        self.start = over_seeds(start_carry, self.alone, (None, None, 0))
        self.advance = eqx.filter_jit(over_seeds(advance, self.alone, (None, None, 0, 0, None, None)))
        self.carry: Carry | None = None
        self.updates = 0

    def begin(self) -> Carry:
        """A carry that has learned nothing."""
        return once_jit(self.start)(self.task, self.learner, self.first_key)

    @property
    def first_key(self) -> Any:
        return self.one_or_all(split_key(self.keys, 0))

    def one_or_all(self, batched: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[0], batched) if self.alone else batched

    def slices(self) -> list[Carry]:
        """The carry of each seed."""
        if self.carry is None:
            return []
        if self.alone:
            return [self.carry]
        return [jax.tree.map(lambda leaf, n=n: leaf[n], self.carry) for n in range(len(self.seeds))]

    @property
    def step(self) -> int:
        return self.updates * self.chunk

    def run(self, report: Report = silent) -> None:
        """To the end. An interrupt leaves a state to resume from, if there was a checkpoint yet."""
        try:
            if self.carry is None:
                with giving_memory_back():
                    self.carry = self.begin()
                    self.advanced(0)  # compiles the largest program while there is the most room
                self.checkpoint(report)
            while self.updates < self.total:
                self.stretch(report)
        except KeyboardInterrupt:
            if all(folder.state.exists() for folder in self.folders):
                self.write_state()
            raise

    def advanced(self, count: int) -> tuple[Carry, dict[str, Any]]:
        """The carry that many updates on, and the sums of their metrics."""
        keys = self.one_or_all(split_key(self.keys, 1))
        return self.advance(self.task, self.learner, self.carry, keys, jnp.asarray(count), jnp.asarray(self.total))

    def stretch(self, report: Report) -> None:
        """Train until the next row is due, and to a checkpoint if one is."""
        row = max(1, self.interval // ROWS_PER_CHECKPOINT)
        boundary = (self.updates // self.interval + 1) * self.interval
        if self.total - boundary < self.interval / 2:  # no checkpoint right before the last one
            boundary = self.total
        count = min((self.updates // row + 1) * row, boundary) - self.updates
        began = time.perf_counter()
        carry, sums = self.advanced(count)
        sums = {name: np.atleast_1d(np.asarray(value)) for name, value in sums.items()}
        seconds = time.perf_counter() - began
        self.check_finite(sums, carry)
        self.carry, self.updates = carry, self.updates + count
        for number, (seed, folder) in enumerate(zip(self.seeds, self.folders, strict=True)):
            metrics = mean_metrics({name: value[number] for name, value in sums.items()}, count)
            speed = count * self.chunk / seconds
            folder.append("train.jsonl", [{"step": self.step, "seconds": round(seconds, 4)} | metrics])
            report(Progress(seed, self.step, self.total * self.chunk, speed, metrics["return"], metrics=metrics))
        if self.updates == boundary:
            self.checkpoint(report)

    def check_finite(self, sums: dict[str, np.ndarray], carry: Carry) -> None:
        """Stop at the first number that is none; what is on disk stays as it was."""
        for number, seed in enumerate(self.seeds):
            bad = [name for name, value in sums.items() if not np.isfinite(value[number])]
            if bad:
                update = int(np.atleast_1d(np.asarray(carry.train.updates))[number])
                raise UserError(
                    f"Seed {seed}: {', '.join(bad)} stopped being finite at step {update * self.chunk}. The run ends; "
                    f"its last good checkpoint is in {self.folders[number].path}. A lower learning rate or "
                    "max_grad_norm may help."
                )

    def checkpoint(self, report: Report) -> None:
        """Evaluate the frozen policy on every split, and its belief; write rows, policy and state, in this order."""
        give_memory_back()  # what compiling the training took, if the run was resumed
        for seed, folder, carry in zip(self.seeds, self.folders, self.slices(), strict=True):
            policy = self.learner.frozen(carry.train.model)
            means = {}
            for number, split in enumerate(self.task.split_names):
                # Other episodes at every checkpoint, the same ones in every run of this seed.
                key = (seed * 1_000_003 + self.updates) * 16 + number
                played = evaluate(
                    policy, self.task.split(split), episodes=self.settings.evaluation_episodes, seed=key % 2**31
                )
                folder.append("episodes.jsonl", played.rows(self.step, split))
                means[split] = played.mean
            if holds_belief(policy, self.task):
                scores = belief_scores(policy, self.task, seed=self.updates)
                folder.append("beliefs.jsonl", [{"step": self.step, "split": "train"} | scores])
            save_policy(
                folder.checkpoint(self.step), self.learner, carry.train.model,
                task=self.task.name, spec=self.task.spec, step=self.step,
            )  # fmt: skip
            report(Progress(seed, self.step, self.total * self.chunk, evaluation=means))
        self.write_state()
        give_memory_back()  # what compiling the evaluation took

    def write_state(self) -> None:
        """Everything needed to go on, and how long the row files were then."""
        for seed, folder, carry in zip(self.seeds, self.folders, self.slices(), strict=True):
            header = {"kind": "state", "seed": seed, "updates": self.updates, "rows": folder.row_counts()}
            save_tree(folder.state, carry, header)


def over_seeds(function: Callable, alone: bool, axes: tuple) -> Callable:
    """Batched over seeds, unless there is only one: then nothing differs from a plain call, bit for bit."""
    return function if alone else jax.vmap(function, in_axes=axes)


def split_key(keys: Any, use: int) -> Any:
    """Keys for one of a run's two uses of its seed: to begin, and to go on."""
    return jax.vmap(lambda key: jax.random.fold_in(key, use))(keys)


def mean_metrics(sums: dict[str, Any], count: int) -> dict[str, float | None]:
    """Means per update, and the mean return of the episodes that ended."""
    metrics: dict[str, float | None] = {name: float(value) / count for name, value in sums.items()}
    episodes, total = float(sums["episodes"]), float(sums["return_sum"])
    del metrics["return_sum"]
    return metrics | {"episodes": episodes, "return": total / episodes if episodes else None}


def start_training(
    task: Task, learner: AbstractLearner, settings: Settings, seeds: Sequence[int], folders: Sequence[Path | str]
) -> Training:
    """New runs in new folders."""
    made = [
        RunFolder.create(
            path,
            {
                "task": to_json(task),
                "learner": to_json(learner),
                "settings": dataclasses.asdict(settings),
                "seed": seed,
            },
        )
        for seed, path in zip(seeds, folders, strict=True)
    ]
    return Training(task, learner, settings, seeds, made)


def resume_training(path: Path | str) -> Training:
    """A run that was interrupted, from the last state it wrote; from its start if it had not written any."""
    folder = RunFolder.open(path)
    config = folder.config
    training = Training(
        from_json(config["task"]),
        from_json(config["learner"]),
        Settings(**config["settings"]),
        [config["seed"]],
        [folder],
    )
    if not folder.state.exists():
        folder.cut_rows(dict.fromkeys(ROW_FILES, 0))
        return training
    header = read_header(folder.state)
    like = jax.eval_shape(lambda: training.start(training.task, training.learner, training.first_key))
    training.carry = load_tree(folder.state, like)
    training.updates = header["updates"]
    folder.cut_rows(header["rows"])
    return training


def train(
    task: Task,
    learner: AbstractLearner,
    *,
    steps: int = Settings.steps,
    seed: int = 0,
    out: Path | str,
    checkpoint_every: int | None = None,
    evaluation_episodes: int = Settings.evaluation_episodes,
    report: Report = silent,
) -> Run:
    """Train one learner on one task and keep everything in a folder."""
    settings = Settings(int(steps), checkpoint_every, evaluation_episodes)
    training = start_training(task, learner, settings, [seed], [out])
    training.run(report)
    return finished(training)


def resume(path: Path | str, *, report: Report = silent) -> Run:
    """Go on with an interrupted run, to the result it would have had."""
    training = resume_training(path)
    training.run(report)
    return finished(training)


def finished(training: Training) -> Run:
    """What is left of a training that came to its end."""
    return Run(training.folders[0], training.learner.frozen(training.slices()[0].train.model))
