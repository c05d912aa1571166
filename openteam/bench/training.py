"""How fast an algorithm trains, and what part of that time its matrix products alone would take."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from openteam.bench.measure import matmul_gigaflops
from openteam.bench.products import Product, products_of, seconds_alone, total_flops
from openteam.bench.timing import compile_twice, lowered, peak_megabytes, seconds_per_call
from openteam.compile_cache import once_jit
from openteam.core.learner import AbstractLearner
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.rollout.acting import collect
from openteam.rollout.joint_acting import way_of_acting
from openteam.task import Task
from openteam.training.devices import mesh_for, spread
from openteam.training.loop import Carry, advance, one_update, start_carry
from openteam.training.settings import Settings
from openteam.training.spec import RunSpec

STEPS_PER_CALL = 16_000


@dataclass(frozen=True)
class TrainingSpeed:
    """One algorithm on one task."""

    training: float  # steps/s
    collecting: float  # steps/s
    cold_seconds: float
    cached_seconds: float
    peak_megabytes: float  # of the process until it has trained, compiler included
    megabytes: float  # of the program
    megaflop: float  # of the matrix products of an environment step
    products_seconds: float  # that these take alone
    matmul_gigaflops: float  # plain products of the usual LSTM's shape at the same row count

    @property
    def share(self) -> float:
        """The part of a training step's time that its products would take alone."""
        return self.products_seconds * self.training

    @property
    def products_gigaflops(self) -> float:
        """The speed of the products alone."""
        return self.megaflop / self.products_seconds / 1e3


class Training:
    """A run that has just begun, and the arguments to go on with."""

    def __init__(self, task: Task, learner: AbstractLearner, devices: int = 1, steps: int = STEPS_PER_CALL):
        self.task, self.learner = task, learner
        self.keys = jax.random.split(make_key(1))
        self.chunk = learner.envs * learner.update_every
        self.updates = max(1, steps // self.chunk)
        mesh = mesh_for([RunSpec(task, learner, Settings(), 0)], devices)
        carry: Carry = once_jit(start_carry)(task, learner, make_key(0))
        self.carry = carry if mesh is None else spread(carry, mesh, seeds=False)

    @property
    def args(self) -> tuple[Any, ...]:
        """For ``advance``."""
        updates = jnp.asarray(self.updates)
        return self.task, self.learner, self.carry, self.keys, updates, updates * 1000

    @property
    def steps(self) -> int:
        """Environment steps per call."""
        return self.updates * self.chunk

    def products(self) -> Counter[Product]:
        """Those of one update, its chunk collected too."""
        progress = jnp.zeros(())
        return products_of(lambda carry: one_update(self.task, self.learner, carry, self.keys, progress), self.carry)


def training_speed(task: Task, learner: AbstractLearner, budget: float) -> TrainingSpeed:
    """Training and collecting, beside the products of the same program alone."""
    run = Training(task, learner)
    program = compile_twice(advance, *run.args)
    args = run.args
    train = seconds_per_call(lambda: program.call(*args), budget)
    peak = peak_megabytes()
    products = run.products()
    return TrainingSpeed(
        training=run.steps / train,
        collecting=collecting_speed(run, budget / 2),
        cold_seconds=program.cold_seconds,
        cached_seconds=program.cached_seconds,
        peak_megabytes=peak,
        megabytes=program.megabytes,
        megaflop=total_flops(products) / run.chunk / 1e6,
        products_seconds=seconds_alone(products, budget / 2) / run.chunk,
        matmul_gigaflops=matmul_gigaflops(run.chunk * task.slots, 100, 400, budget / 2),
    )


def steps_per_second(task: Task, learner: AbstractLearner, budget: float, devices: int = 1) -> float:
    """Training alone, on one or several devices."""
    run = Training(task, learner, devices)
    args, program = run.args, lowered(advance, *run.args).compile()
    return run.steps / seconds_per_call(lambda: program(*args), budget)


def collecting_speed(run: Training, budget: float) -> float:
    """Steps/s without learning; all that is seen is used."""
    task, learner, updates = run.task, run.learner, run.updates
    act, key = way_of_acting(learner), make_key(0)

    @eqx.filter_jit
    def gather(task: Task, policy: AbstractPolicy, actor: Any) -> Any:
        def body(n: Any, state: tuple) -> tuple:
            actor, total = state
            actor, chunk = collect(task, policy, actor, jax.random.fold_in(key, n), learner.update_every, act)
            return actor, total + chunk.sequence.reward.sum() + chunk.sequence.view.obs.agents.sum()

        return jax.lax.fori_loop(0, updates, body, (actor, jnp.zeros(())))

    policy = learner.policy(run.carry.train.model, jnp.zeros(()))
    return run.steps / seconds_per_call(lambda: gather(task, policy, run.carry.actor), budget)
