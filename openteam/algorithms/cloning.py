"""Behaviour cloning: a network that learns to do what a teammate type does.

The type plays in all slots, on the same driver as any learner; the network learns its actions by cross entropy.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from openteam.algorithms.control import Schedule
from openteam.algorithms.masked import masked_mean
from openteam.algorithms.policy_gradient import log_probability
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.policy import AbstractPolicy
from openteam.core.types import Chunk, Spec, over_chunk
from openteam.errors import UserError, check_positive
from openteam.models.policy import NetworkPolicy, PolicyNetwork
from openteam.teammates.pool import AbstractFamily


class Cloning(AbstractLearner):
    """Cross entropy of a type's actions, one optimiser step per chunk."""

    teacher: AbstractFamily
    """The family the type belongs to."""
    type: str = eqx.field(static=True)
    """The type's name in it."""
    envs: int = eqx.field(static=True, default=64)
    """Environments in which the type plays side by side."""
    update_every: int = eqx.field(static=True, default=4)
    """Steps of each environment between two updates."""
    learning_rate: Schedule = Schedule(2e-3, 1e-5, 1.0)
    """Adam's step size."""
    width: int = eqx.field(static=True, default=64)
    """Width of all layers."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "width")
        if self.type not in self.teacher.names:
            raise UserError(f"There is no type '{self.type}' to clone. There are: {', '.join(self.teacher.names)}.")

    @property
    def joint(self) -> bool:
        return True

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        model = PolicyNetwork(key, spec, spec.actions, width=self.width)
        return TrainState(model, (), self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Without the step size, which depends on progress."""
        return optax.flatten(optax.scale_by_adam())

    def policy(self, model: PolicyNetwork, progress: Float[Array, ""]) -> AbstractPolicy:
        del model, progress
        return self.teacher.member(jnp.asarray(self.teacher.names.index(self.type)))

    def frozen(self, model: PolicyNetwork) -> NetworkPolicy:
        return NetworkPolicy(model, jnp.ones(()), jnp.zeros((), bool))

    def context(self, state: TrainState, slots: int) -> tuple[()]:
        del state, slots
        return ()

    def update(
        self, key: Key[Array, ""], state: TrainState, context: tuple[()], chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, tuple[()], Metrics]:
        del key
        loss, gradient = jax.value_and_grad(cross_entropy)(state.model, chunk)
        step, opt_state = self.optimiser.update(gradient, state.opt_state, state.model)
        rate = self.learning_rate(progress)
        model: Any = jax.tree.map(lambda old, change: old - rate * change, state.model, step)
        metrics = {"cross_entropy": loss, "gradient_norm": optax.tree.norm(gradient)}
        return TrainState(model, (), opt_state, state.updates + 1), context, metrics


def cross_entropy(network: PolicyNetwork, chunk: Chunk) -> Float[Array, ""]:
    """- log p(a), the mean over those who were there."""
    likelihood = over_chunk(log_probability)(over_chunk(network)(chunk.timesteps.view.obs), chunk.actions)
    return -masked_mean(likelihood, chunk.truth.exists[..., 0])
