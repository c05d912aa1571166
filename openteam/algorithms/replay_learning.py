"""What every learner with a replay does: keep what the team lived through, learn from a sample, let a target follow."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from openteam.algorithms.replay import Transition, kept_steps, push, sample, start_replay
from openteam.algorithms.rules import check_rates
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.random import key as make_key
from openteam.core.types import Chunk
from openteam.errors import check_positive


class AbstractReplayLearner(AbstractLearner):
    """Trained in all slots at once, on whole teams' steps from a replay. Its model knows its ``spec``."""

    joint: ClassVar[bool] = True
    chance: ClassVar[bool] = False  # its loss draws random numbers
    update_every: eqx.AbstractVar[int]
    """Steps of each environment between two updates."""
    batch: eqx.AbstractVar[int]
    """Transitions, each of all slots, that an update learns from."""
    warm_up: eqx.AbstractVar[int]
    """Steps before the first change of the networks."""
    learning_rate: eqx.AbstractVar[float]
    target_rate: eqx.AbstractVar[float]
    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    replay: int = eqx.field(static=True, default=50_000)
    """Transitions kept, each of all slots; rounded down to whole chunks of envs times update_every."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "replay", "batch", "learning_rate")
        check_rates(self, self.discount, self.target_rate)
        kept_steps(self.replay, self.envs, self.update_every)

    @abstractmethod
    def loss(
        self, model: PyTree[Any], target: PyTree[Any], batch: Transition, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """What to make small. Without ``chance`` the key is not its own and must not be used."""

    @abstractmethod
    def descend(self, state: TrainState, gradient: PyTree[Any]) -> tuple[PyTree[Any], PyTree[Any], Metrics]:
        """The model and the optimiser's state after one step, and the gradient's norm."""

    def context(self, state: TrainState, slots: int) -> Transition:
        """The replay of one row."""
        del slots
        return start_replay(state.model.spec, kept_steps(self.replay, self.envs, self.update_every))

    def update(
        self, state: TrainState, context: Transition, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, Transition, Metrics]:
        del progress
        replay = push(context, chunk, state.updates)
        seen = (state.updates + 1) * self.update_every  # steps of each environment
        # Which experience is learned from need not differ between runs, only between updates.
        k_sample = k_loss = jax.random.fold_in(make_key(0), state.updates)
        if self.chance:
            k_sample, k_loss = jax.random.split(k_loss)
        batch = sample(k_sample, replay, seen, self.batch, chunk.truth.exists.shape[-1])
        learns = (seen * self.envs >= self.warm_up).astype(jnp.float32)

        def loss(model: PyTree[Any]) -> tuple[Float[Array, ""], Metrics]:
            total, metrics = self.loss(model, state.target, batch, k_loss)
            return learns * total, metrics

        (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(state.model)
        model, opt_state, norms = self.descend(state, gradient)
        target = jax.tree.map(lambda new, old: old + self.target_rate * (new - old), model, state.target)
        return TrainState(model, target, opt_state, state.updates + 1), replay, metrics | norms
