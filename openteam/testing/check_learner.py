"""A conformance test for learners.

Put ``check_learner(MyLearner(envs=4))`` into a test of your own. It trains for a few updates on a small task, or on
one that you give.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from openteam.core.learner import AbstractLearner
from openteam.probes import PROBES
from openteam.storage.config import from_json, to_json
from openteam.task import Task
from openteam.testing.check_policy import check_shapes
from openteam.training.loop import Carry
from openteam.training.program import Program
from openteam.training.settings import Settings
from openteam.training.spec import RunSpec

UPDATES = 3


def check_learner(learner: AbstractLearner, task: Task | None = None, seed: int = 0) -> None:
    """Raise an ``AssertionError`` at the first rule of ``AbstractLearner`` that ``learner`` breaks."""
    where, task = type(learner).__name__, PROBES["match"]() if task is None else task
    check_settings(learner, where)
    steps = learner.envs * learner.update_every * UPDATES
    program = Program([RunSpec(task, learner, Settings(steps), seed)])
    carry = program.start()
    check_state(learner, task, carry, where)
    states, sums = [carry], {}
    for _ in range(UPDATES):
        carry, sums = program.advance(carry, 1)
        states.append(carry)
        check_metrics(sums, where)
    check_progress(states, where)
    again, _ = program.advance(states[0], UPDATES)
    if not all(map(np.array_equal, jax.tree.leaves(again.train), jax.tree.leaves(carry.train))):
        raise AssertionError(
            f"{where}: the same run gave two different results. Everything random in update must come from its key, "
            "and everything that is kept from TrainState and context: change nothing outside."
        )


def check_settings(learner: AbstractLearner, where: str) -> None:
    """A run writes its learner down and builds it again from that."""
    config = to_json(learner)
    if to_json(from_json(config)) != config:
        raise AssertionError(
            f"{where}: its settings, written down and read again, are others. All of them must be fields that the "
            "constructor takes as they are: numbers, words, tuples and equinox modules."
        )


def check_state(learner: AbstractLearner, task: Task, carry: Carry, where: str) -> None:
    """What is learned must fit into a checkpoint, and both policies into the task."""
    odd = [path for path, leaf in jax.tree_util.tree_leaves_with_path(carry.train) if not hasattr(leaf, "dtype")]
    if odd:
        raise AssertionError(
            f"{where}: train{jax.tree_util.keystr(odd[0])} is no array, so no checkpoint can hold it. Make it an "
            "array, or a static field: eqx.field(static=True)."
        )
    if carry.train.updates.shape != () or not jnp.issubdtype(carry.train.updates.dtype, jnp.integer):
        raise AssertionError(f"{where}: init must set TrainState.updates to jnp.zeros((), jnp.int32).")
    check_shapes(learner.policy(carry.train.model, jnp.zeros(())), task.spec, task.slots, f"{where}.policy")
    check_shapes(learner.frozen(carry.train.model), task.spec, task.slots, f"{where}.frozen")


def check_metrics(sums: dict[str, Any], where: str) -> None:
    """Metrics are single finite numbers."""
    for name, value in sums.items():
        if np.shape(value) != (1,):
            raise AssertionError(f"{where}: the metric '{name}' has shape {np.shape(value)[1:]}; expected one number.")
        if not np.isfinite(value).all():
            raise AssertionError(
                f"{where}: the metric '{name}' is {float(value[0])}. Look for 0 / 0 and log(0) in update."
            )


def check_progress(states: list[Carry], where: str) -> None:
    """Every update counts itself and changes what is learned."""
    counts = [int(state.train.updates) for state in states]
    if counts != list(range(len(states))):
        raise AssertionError(
            f"{where}: TrainState.updates went {counts}. Every call of update adds 1, or the run could not be resumed."
        )
    first, last = (jax.tree.leaves(state.train.model) for state in (states[0], states[-1]))
    if all(map(np.array_equal, first, last)):
        raise AssertionError(f"{where}: after {len(states) - 1} updates the model is as it was. Return the new one.")
