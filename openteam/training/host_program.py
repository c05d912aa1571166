"""The program of a run whose environments are plain Python: these step in their processes, the rest is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from openteam.compile_cache import long_jit, once_jit
from openteam.core.learner import AbstractLearner
from openteam.core.random import key as make_key
from openteam.errors import UserError
from openteam.host.seen import Seen
from openteam.host.task import HostTask
from openteam.rollout.host_acting import HostCollector, blank_seen, start_host_actor
from openteam.training.loop import Carry, learn_from, start_context
from openteam.training.program import COLLECT, LEARN, START
from openteam.training.spec import RunSpec


def start_host_carry(
    task: HostTask, learner: AbstractLearner, key: Key[Array, ""], seen: Seen, episodes: Int[Array, "envs"]
) -> Carry:
    """A run that has not begun, in environments that show this."""
    k_init, k_actor = jax.random.split(key)
    train = learner.init(k_init, task.spec)
    policy = learner.policy(train.model, jnp.zeros(()))
    actor = start_host_actor(task.pool, policy, seen, episodes, k_actor)
    return Carry(train, actor, start_context(learner, train, task.slots, learner.envs), jnp.zeros(learner.envs))


start_carry = once_jit(start_host_carry)
learn = long_jit(learn_from)


@once_jit
def keys_of_update(roots: Key[Array, "2"], number: Array, total: Array) -> tuple[Key[Array, "2"], Float[Array, ""]]:
    """The keys of an update and the run's progress, as in the compiled loop."""
    return jax.vmap(jax.random.fold_in, (0, None))(roots, number), number / total


class HostProgram:
    """``Program`` for a task in plain Python. Its environments live as long as it does."""

    def __init__(self, specs: Sequence[RunSpec]):
        check_alone(specs)
        self.spec = specs[0]
        self.task: HostTask = self.spec.task  # pyright: ignore[reportAttributeAccessIssue]
        self.root = make_key(self.spec.seed)
        self.collector: HostCollector | None = None

    def start(self) -> Carry:
        """A run that has learned nothing."""
        nobody = np.zeros(self.spec.learner.envs, np.int32)
        key = jax.random.fold_in(self.root, START)
        return start_carry(self.task, self.spec.learner, key, self.open(nobody), jnp.asarray(nobody + 1))

    def start_shapes(self) -> Carry:
        """The shapes of its carry."""
        envs = self.spec.learner.envs
        seen = blank_seen(self.task.sizes, envs)
        episodes = jnp.zeros(envs, jnp.int32)
        return eqx.filter_eval_shape(start_host_carry, self.task, self.spec.learner, make_key(0), seen, episodes)

    def open(self, begun: Int[np.ndarray, "envs"]) -> Seen:
        """Environments with new episodes, other ones than those that were begun before."""
        self.collector = HostCollector(self.task, self.spec.learner.envs, self.spec.seed)
        return self.collector.start(begun)

    def resumed(self, carry: Carry) -> Carry:
        """The same learner in new episodes."""
        warnings.warn(
            f"The environments of {self.task.env} cannot be put back where they were: all {self.spec.learner.envs} "
            "begin new episodes. Everything that was learned is as it was.",
            stacklevel=2,
        )
        begun = np.asarray(carry.actor.env.episodes)
        fresh = start_carry(
            self.task, self.spec.learner, jax.random.fold_in(self.root, START), self.open(begun), jnp.asarray(begun + 1)
        )
        return Carry(carry.train, fresh.actor, fresh.context, fresh.returns)

    def advance(self, carry: Carry, count: int) -> tuple[Carry, dict[str, np.ndarray]]:
        """The carry ``count`` updates on, and the sums of their metrics, ``[1]``."""
        assert self.collector is not None
        roots = jnp.stack([jax.random.fold_in(self.root, use) for use in (COLLECT, LEARN)])
        sums: dict[str, np.ndarray] = {}
        self.collector.seconds = 0.0
        for _ in range(count):
            carry, metrics = self.update(self.collector, carry, roots)
            sums = {name: sums.get(name, np.zeros(1)) + np.asarray(value) for name, value in metrics.items()}
            if not all(np.isfinite(value).all() for value in sums.values()):
                break
        return carry, sums | {"environment_seconds": np.array([self.collector.seconds])}

    def update(
        self, collector: HostCollector, carry: Carry, roots: Key[Array, "2"]
    ) -> tuple[Carry, dict[str, Float[Array, ""]]]:
        """Collect one chunk and learn from it."""
        learner = self.spec.learner
        keys, progress = keys_of_update(roots, carry.train.updates, jnp.asarray(self.spec.updates))
        policy = learner.policy(carry.train.model, progress)
        actor, chunk = collector.collect(policy, carry.actor, keys[0], learner.update_every)
        return learn(learner, carry, actor, chunk, keys[1], progress)

    def join(self, carries: Sequence[Carry]) -> Carry:
        """The carry of the one seed there is."""
        return carries[0]

    def split(self, carry: Carry) -> list[Carry]:
        """The same."""
        return [carry]

    def close(self) -> None:
        """End the environments."""
        if self.collector is not None:
            self.collector.close()


def check_alone(specs: Sequence[RunSpec]) -> None:
    """Raise unless there is one run, of a learner that acts for one agent."""
    if len(specs) > 1:
        raise UserError(
            "Runs in plain Python environments do not share one program. Train them one by one, or with openteam plan."
        )
    learner, task = specs[0].learner, specs[0].task
    if learner.joint:
        raise UserError(
            f"{type(learner).__name__} acts for everybody in a team, and in '{task.name}', an environment in plain "
            "Python, the learner is one agent. Choose an algorithm that learns for one, such as gpl-q or ppo."
        )
