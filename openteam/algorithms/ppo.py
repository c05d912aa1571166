"""Proximal policy optimisation (Schulman et al., 2017) with generalised advantage estimation.

The preset ``ppo`` is a single agent without memory to whom its team is part of the world, as in the paper's appendix
"Baselines": it shows what a learner gains by inferring what it cannot see. The preset ``ippo``, independent PPO, trains
one policy in all slots at once, each slot on its own reward: it makes the learned teammates.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.algorithms.control import Schedule
from openteam.algorithms.masked import masked_mean, normalised
from openteam.algorithms.policy_gradient import entropy, generalised_advantages, log_probability
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.policy import AbstractPolicy
from openteam.core.types import Chunk, Spec, over_chunk
from openteam.errors import UserError, check_in, check_not_negative, check_positive
from openteam.models.actor_critic import AbstractActorCritic, AbstractNetworkSettings, FlatNetworks
from openteam.models.policy import masked_logits


class Batch(eqx.Module):
    """Decisions to learn from."""

    inputs: PyTree[Any]  # of the networks
    legal: Bool[Array, "*rows actions"]
    actions: Int[Array, "*rows"]
    log_probability: Float[Array, "*rows"]  # of the action, when it was chosen
    advantage: Float[Array, "*rows"]
    value_target: Float[Array, "*rows"]
    present: Bool[Array, "*rows"]  # rows of absent agents do not count


class PPO(AbstractLearner):
    """Defaults are the paper's settings of PPO; whatever it does not say is as in stable-baselines3."""

    network: AbstractNetworkSettings = FlatNetworks()
    """Actor and critic: FlatNetworks on fixed slots, or SetNetworks for a team of any size."""
    all_slots: bool = eqx.field(static=True, default=False)
    """Train one policy in all slots at once, each slot on its own reward: independent PPO."""
    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=2048)
    """Steps of each environment between two updates: ``n_steps`` of stable-baselines3, which also counts them per
    environment. With 128, 2048 steps of all environments together, it did not learn navigation."""
    epochs: int = eqx.field(static=True, default=10)
    """How often an update goes through all its decisions."""
    minibatches: int = eqx.field(static=True, default=512)
    """Optimiser steps per epoch; a divisor of envs times update_every. Each has the paper's 64 decisions."""
    learning_rate: Schedule = Schedule(3e-4, 3e-4)
    """Adam's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    trace: float = eqx.field(static=True, default=0.95)
    """lambda of generalised advantage estimation."""
    clip: float = eqx.field(static=True, default=0.2)
    """epsilon: how far the ratio of an action's new and old probability may be from 1 before it stops counting."""
    normalise_minibatches: bool = eqx.field(static=True, default=True)
    """Scale advantages to mean 0 and deviation 1 in every minibatch; else once, over the whole update."""
    entropy: Schedule = Schedule(0.0, 0.0)
    """Weight of the entropy bonus."""
    value_weight: float = eqx.field(static=True, default=0.5)
    """Weight of the critic's loss."""
    max_grad_norm: float = eqx.field(static=True, default=0.5)
    """Clip the gradient to this global norm."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect. The largest single help in a short run."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training; 0 is greedy, and then agents may block each other."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "epochs", "minibatches", "clip", "max_grad_norm")
        check_in(self, 0.0, 1.0, "discount", "trace")
        check_not_negative(self, "value_weight", "temperature")
        rows = self.envs * self.update_every
        if rows % self.minibatches:
            raise UserError(f"PPO's minibatches must divide envs times update_every = {rows}; got {self.minibatches}.")

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        model = self.network.init(key, spec)
        return TrainState(model, (), self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def joint(self) -> bool:
        return self.all_slots

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Without the step size, which depends on progress."""
        return optax.flatten(optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.scale_by_adam(eps=1e-5)))

    def policy(self, model: AbstractActorCritic, progress: Float[Array, ""]) -> AbstractPolicy:
        del progress
        return model.policy(jnp.ones(()), jnp.asarray(self.mask_illegal))

    def frozen(self, model: AbstractActorCritic) -> AbstractPolicy:
        return model.policy(jnp.asarray(self.temperature), jnp.asarray(self.mask_illegal))

    def context(self, state: TrainState, slots: int) -> tuple[()]:
        del state, slots
        return ()

    def update(
        self, key: Key[Array, ""], state: TrainState, context: tuple[()], chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, tuple[()], Metrics]:
        """Every epoch goes through the chunk's decisions in minibatches, in an order of its own."""
        batch, rate = self.batch(state.model, chunk), self.learning_rate(progress)

        def descend(learned: tuple[Any, Any], rows: Int[Array, "minibatch"]) -> tuple[tuple[Any, Any], Metrics]:
            model, opt_state = learned
            minibatch = jax.tree.map(lambda leaf: leaf[rows], batch)
            (_, metrics), gradient = jax.value_and_grad(self.loss, has_aux=True)(model, minibatch, progress)
            step, opt_state = self.optimiser.update(gradient, opt_state, model)
            model = jax.tree.map(lambda old, change: old - rate * change, model, step)
            return (model, opt_state), metrics | {"gradient_norm": optax.tree.norm(gradient)}

        def epoch(learned: tuple[Any, Any], key: Key[Array, ""]) -> Any:
            order = jax.random.permutation(key, len(batch.actions))
            return jax.lax.scan(descend, learned, order.reshape(self.minibatches, -1))

        learned = (state.model, state.opt_state)
        (model, opt_state), metrics = jax.lax.scan(epoch, learned, jax.random.split(key, self.epochs))
        return TrainState(model, (), opt_state, state.updates + 1), context, jax.tree.map(jnp.mean, metrics)

    def batch(self, model: AbstractActorCritic, chunk: Chunk) -> Batch:
        """The decisions of a chunk, with advantages by the networks that it was collected with."""
        legal, after = chunk.timesteps.view.obs.legal, chunk.next_timesteps
        present = chunk.truth.exists[..., 0]
        inputs, next_inputs = model.inputs(chunk)
        value, next_value = (over_chunk(model.critic)(x)[..., 0] for x in (inputs, next_inputs))
        logits = over_chunk(self.logits, model)(inputs, legal)
        discount = self.discount * after.discount
        td_error = after.reward + discount * next_value - value
        advantage = generalised_advantages(td_error, self.trace * discount * ~after.ends)
        batch = Batch(
            inputs=inputs,
            legal=legal,
            actions=chunk.actions,
            log_probability=over_chunk(log_probability)(logits, chunk.actions),
            advantage=advantage if self.normalise_minibatches else normalised(advantage, present),
            value_target=value + advantage,
            present=present,
        )
        return jax.tree.map(lambda leaf: jax.lax.collapse(leaf, 0, 2), batch)

    def logits(
        self, model: AbstractActorCritic, inputs: PyTree[Any], legal: Bool[Array, "actions"]
    ) -> Float[Array, "actions"]:
        return masked_logits(model.actor(inputs), legal, self.mask_illegal)

    def loss(
        self, model: AbstractActorCritic, batch: Batch, progress: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """- min(ratio A, clip(ratio, 1 - epsilon, 1 + epsilon) A) + w_value (V - target)^2 - w_entropy H, in the mean.

        ratio = p(a) / p_old(a) (Schulman et al., 2017, equations 7 and 9).
        """
        logits = jax.vmap(self.logits, (None, 0, 0))(model, batch.inputs, batch.legal)
        value = jax.vmap(model.critic)(batch.inputs)[:, 0]

        def mean(rows: Float[Array, "rows"]) -> Float[Array, ""]:
            return masked_mean(rows, batch.present)

        advantage = normalised(batch.advantage, batch.present) if self.normalise_minibatches else batch.advantage
        log_ratio = jax.vmap(log_probability)(logits, batch.actions) - batch.log_probability
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1 - self.clip, 1 + self.clip)
        policy_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage))
        value_loss = mean((value - batch.value_target) ** 2)
        mean_entropy = mean(entropy(logits))
        total = policy_loss + self.value_weight * value_loss - self.entropy(progress) * mean_entropy
        return total, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": mean_entropy,
            "kl": mean(ratio - 1 - log_ratio),
            "clip_fraction": mean((jnp.abs(ratio - 1) > self.clip).astype(jnp.float32)),
        }
