"""What every learner of action values does that learns from what it has just lived through, whatever it believes.

It acts for a few steps, takes one step down its loss, and lets a target network follow its value model slowly
(paper, algorithm "GPL Training").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from openteam.algorithms.rules import AbstractRule, QLearning, check_rates
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.errors import check_positive


class AbstractTDLearner(AbstractLearner):
    """Temporal-difference learning. Its model has a ``value``, of which the target is a slow copy."""

    rule: AbstractRule = QLearning()
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
    """Part of the way the target network moves towards the value model at every update."""
    max_grad_norm: float | None = eqx.field(static=True, default=None)
    """Clip the gradient to this global norm; None clips nothing, as the paper."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect. The paper's learner may waste a step."""
    agent_model_weight: float = eqx.field(static=True, default=1.0)
    """Weight of the agent model's loss, over teammates in sight."""
    utility_width: int = eqx.field(static=True, default=60)
    """Width of both hidden layers of the networks that turn types into values."""
    message_width: int = eqx.field(static=True, default=30)
    """Width of the agent model's edge and node networks."""
    embedding: int = eqx.field(static=True, default=70)
    """Length of the agent model's messages and node embeddings."""
    readout_width: int = eqx.field(static=True, default=20)
    """Width of the agent model's read-out."""

    def __check_init__(self) -> None:
        check_positive(
            self, "envs", "update_every", "learning_rate", "utility_width", "message_width", "embedding",
            "readout_width",
        )  # fmt: skip
        check_rates(self, self.discount, self.target_rate)

    @property
    def agent_sizes(self) -> dict[str, int]:
        return {"width": self.message_width, "embedding": self.embedding, "readout_width": self.readout_width}

    @property
    def optimiser(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(self.max_grad_norm) if self.max_grad_norm else optax.identity()
        return optax.flatten(optax.chain(clip, optax.adam(self.learning_rate)))

    def begin(self, model: PyTree[Any]) -> TrainState:
        """Nothing is learned yet."""
        opt_state = self.optimiser.init(eqx.filter(model, eqx.is_array))
        return TrainState(model, model.value, opt_state, jnp.zeros((), jnp.int32))

    def descend(
        self, state: TrainState, loss: Callable[[PyTree[Any]], tuple[Float[Array, ""], Metrics]]
    ) -> tuple[TrainState, Metrics]:
        """One step down the loss, and the target follows."""
        (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(state.model)
        step, opt_state = self.optimiser.update(gradient, state.opt_state, state.model)
        model: Any = eqx.apply_updates(state.model, step)
        target = jax.tree.map(lambda new, old: old + self.target_rate * (new - old), model.value, state.target)
        flat, _ = ravel_pytree(gradient)  # which the optimiser has anyway: one sum, not one for every parameter
        metrics |= {"gradient_norm": jnp.linalg.norm(flat)}
        return TrainState(model, target, opt_state, state.updates + 1), metrics
