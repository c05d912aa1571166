"""Temporal-difference learning with a target network: the settings that GPL and its belief-based versions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from openteam.algorithms.control import AbstractControl, QLearning
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.errors import check_in, check_not_negative, check_positive


class AbstractTDLearner(AbstractLearner):
    """Settings only: how a value is learned from the last few steps, without a replay buffer."""

    control: AbstractControl = QLearning()
    """How it acts and what it learns towards: QLearning or SoftPolicyIteration."""
    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=4)
    """Steps of each environment between two updates (t_update)."""
    learning_rate: float = eqx.field(static=True, default=2.5e-4)
    """Adam's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    target_rate: float = eqx.field(static=True, default=0.001)
    """Fraction of the way that the target network moves towards the value model at every update."""
    max_grad_norm: float | None = eqx.field(static=True, default=None)
    """Clip the gradient to this global norm; None clips nothing, as in the paper."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect. The paper's learner may waste a step."""
    agent_model_weight: float = eqx.field(static=True, default=1.0)
    """Weight of the agent model's loss, over teammates in sight."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "learning_rate", "target_rate", "max_grad_norm")
        check_in(self, 0.0, 1.0, "discount", "target_rate")
        check_not_negative(self, "agent_model_weight")

    @property
    def joint(self) -> bool:
        return False

    @property
    def optimiser(self) -> TargetedAdam:
        return TargetedAdam(self.learning_rate, self.target_rate, self.max_grad_norm)


class TargetedAdam(eqx.Module):
    """Adam on a whole model, and a target network that follows ``model.value`` slowly."""

    learning_rate: float = eqx.field(static=True)
    target_rate: float = eqx.field(static=True)
    max_grad_norm: float | None = eqx.field(static=True)

    @property
    def adam(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(self.max_grad_norm) if self.max_grad_norm else optax.identity()
        return optax.flatten(optax.chain(clip, optax.adam(self.learning_rate)))

    def start(self, model: PyTree[Any]) -> TrainState:
        """Before the first update: the target network is a copy of ``model.value``."""
        opt_state = self.adam.init(eqx.filter(model, eqx.is_array))
        return TrainState(model, model.value, opt_state, jnp.zeros((), jnp.int32))

    def step(
        self, state: TrainState, loss: Callable[[PyTree[Any]], tuple[Float[Array, ""], Metrics]]
    ) -> tuple[TrainState, Metrics]:
        """One step of Adam down the loss, then target <- target + rate (value - target)."""
        (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(state.model)
        step, opt_state = self.adam.update(gradient, state.opt_state, state.model)
        model: Any = eqx.apply_updates(state.model, step)
        target = jax.tree.map(lambda new, old: old + self.target_rate * (new - old), model.value, state.target)
        # One sum instead of one per parameter, and squares that Adam need not wait for.
        flat, _ = ravel_pytree(gradient)
        metrics |= {"gradient_norm": jnp.linalg.norm(jax.lax.optimization_barrier(flat))}
        return TrainState(model, target, opt_state, state.updates + 1), metrics
