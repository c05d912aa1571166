"""Proximal policy optimisation (Schulman et al., 2017) with generalised advantage estimation.

What PPO and independent PPO share. They differ in what their networks look at, and in who acts.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.algorithms.policy_gradient import advantages, entropy, log_probability, normalised, weighted_mean
from openteam.algorithms.rules import Schedule
from openteam.core.chunks import acted_on, led_to, over_chunk
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import Chunk, Spec
from openteam.errors import UserError, check_positive
from openteam.models.policy import possible

Normalise = Literal["update", "minibatch"]


class AbstractActorCritic(eqx.Module):
    """Two networks, so that what values are worth does not pull at the policy, and the actor can be shipped alone.

    Both are functions of the same thing, whatever that is: one gives logits, the other a value.
    """

    actor: eqx.AbstractVar[Any]
    critic: eqx.AbstractVar[Any]


class Batch(eqx.Module):
    """Decisions to learn from, one a row."""

    seen: PyTree[Any]  # what the networks look at
    legal: Bool[Array, "*rows actions"]
    actions: Int[Array, "*rows"]
    log_probability: Float[Array, "*rows"]  # of the action, when it was chosen
    advantage: Float[Array, "*rows"]
    value_target: Float[Array, "*rows"]
    weight: Float[Array, "*rows"]  # 0 where nobody was there to decide


class AbstractPPO(AbstractLearner):
    """Defaults are the paper's settings of PPO; whatever it does not say is as in stable-baselines3."""

    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=128)
    """Steps of each environment between two updates."""
    epochs: int = eqx.field(static=True, default=10)
    """Times every decision is learned from."""
    minibatches: int = eqx.field(static=True, default=32)
    """Optimiser steps per epoch; a divisor of envs times update_every."""
    learning_rate: Schedule = Schedule(3e-4, 3e-4)
    """Adam's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    trace: float = eqx.field(static=True, default=0.95)
    """lambda of generalised advantage estimation."""
    clip: float = eqx.field(static=True, default=0.2)
    """How far an action's probability may move in one update, as a ratio, before it stops counting."""
    normalise: Normalise = eqx.field(static=True, default="minibatch")
    """Over which decisions advantages are brought to mean 0 and deviation 1: an update's or a minibatch's."""
    entropy: Schedule = Schedule(0.0, 0.0)
    """Weight of the bonus for undecided policies."""
    value_weight: float = eqx.field(static=True, default=0.5)
    """Weight of the critic's loss."""
    max_grad_norm: float = eqx.field(static=True, default=0.5)
    """Clip the gradient to this global norm."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training; 0 is greedy, and then agents may block each other."""
    width: int = eqx.field(static=True, default=128)
    """Width of all layers."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "epochs", "minibatches", "clip", "max_grad_norm", "width")
        name, rows = type(self).__name__, self.envs * self.update_every
        if self.normalise not in get_args(Normalise):
            raise UserError(f"{name}'s normalise is 'update' or 'minibatch'; got '{self.normalise}'.")
        if not (0 <= self.discount <= 1 and 0 <= self.trace <= 1):
            raise UserError(f"{name} needs discount and trace in [0, 1]; got {self.discount}, {self.trace}.")
        if rows % self.minibatches:
            raise UserError(
                f"{name}'s minibatches must divide envs times update_every = {rows}; got {self.minibatches}."
            )

    @abstractmethod
    def networks(self, key: Key[Array, ""], spec: Spec) -> AbstractActorCritic:
        """Fresh networks."""

    @abstractmethod
    def acting(self, model: Any, temperature: Float[Array, ""]) -> AbstractPolicy:
        """How the actor's logits become behaviour."""

    @abstractmethod
    def seen(self, model: Any, chunk: Chunk) -> tuple[PyTree[Any], PyTree[Any]]:
        """What the networks look at, where each action was chosen and where it led."""

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        model = self.networks(key, spec)
        return TrainState(model, (), self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Without the step size, which depends on progress."""
        return optax.flatten(optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.scale_by_adam(eps=1e-5)))

    @property
    def masks(self) -> Bool[Array, ""]:
        return jnp.asarray(self.mask_illegal)

    def policy(self, model: AbstractActorCritic, progress: Float[Array, ""]) -> AbstractPolicy:
        del progress
        return self.acting(model, jnp.ones(()))

    def frozen(self, model: AbstractActorCritic) -> AbstractPolicy:
        return self.acting(model, jnp.asarray(self.temperature))

    def context(self, state: TrainState, slots: int) -> tuple[()]:
        del state, slots
        return ()

    def update(
        self, state: TrainState, context: tuple[()], chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, tuple[()], Metrics]:
        batch = self.batch(state.model, chunk)
        # The order in which decisions are learned from need not differ between runs, only between updates.
        key = jax.random.fold_in(make_key(0), state.updates)

        def descend(learned: tuple[Any, Any], minibatch: Batch) -> tuple[tuple[Any, Any], Metrics]:
            model, opt_state = learned
            (_, metrics), gradient = jax.value_and_grad(self.loss, has_aux=True)(model, minibatch, progress)
            step, opt_state = self.optimiser.update(gradient, opt_state, model)
            rate = self.learning_rate(progress)
            model = jax.tree.map(lambda old, change: old - rate * change, model, step)
            return (model, opt_state), metrics | {"gradient_norm": optax.tree.norm(gradient)}

        def epoch(learned: tuple[Any, Any], number: Int[Array, ""]) -> tuple[tuple[Any, Any], Any]:
            order = jax.random.permutation(jax.random.fold_in(key, number), len(batch.actions))
            order = order.reshape(self.minibatches, -1)
            return jax.lax.scan(lambda now, rows: descend(now, jax.tree.map(lambda x: x[rows], batch)), learned, order)

        learned = (state.model, state.opt_state)
        (model, opt_state), metrics = jax.lax.scan(epoch, learned, jnp.arange(self.epochs))
        return TrainState(model, (), opt_state, state.updates + 1), context, jax.tree.map(jnp.mean, metrics)

    def batch(self, model: AbstractActorCritic, chunk: Chunk) -> Batch:
        """What a chunk teaches, according to the networks it was collected with."""
        led, legal = led_to(chunk), acted_on(chunk).obs.legal
        weight = chunk.truth.exists[..., 0].astype(jnp.float32)
        seen, successor = self.seen(model, chunk)
        value = over_chunk(model.critic)(seen)[..., 0]
        next_value = over_chunk(model.critic)(successor)[..., 0]
        goes_on = self.discount * led.discount
        surprise = led.reward + goes_on * next_value - value
        advantage = advantages(surprise, self.trace * goes_on * ~led.ends)
        rows = Batch(
            seen=seen,
            legal=legal,
            actions=chunk.actions,
            log_probability=over_chunk(log_probability)(over_chunk(self.logits(model))(seen, legal), chunk.actions),
            advantage=normalised(advantage, weight) if self.normalise == "update" else advantage,
            value_target=value + advantage,
            weight=weight,
        )
        return jax.tree.map(lambda leaf: jax.lax.collapse(leaf, 0, 2), rows)

    def logits(self, model: AbstractActorCritic) -> Any:
        """The policy's logits, as a function of what is seen and legal."""
        return lambda seen, legal: possible(model.actor(seen), legal, self.masks)

    def loss(
        self, model: AbstractActorCritic, batch: Batch, progress: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate, the critic's squared error and the entropy bonus, means over those who were there."""
        logits = jax.vmap(self.logits(model))(batch.seen, batch.legal)
        value = jax.vmap(model.critic)(batch.seen)[:, 0]

        def mean(rows: Float[Array, "rows"]) -> Float[Array, ""]:
            return weighted_mean(rows, batch.weight)

        advantage = normalised(batch.advantage, batch.weight) if self.normalise == "minibatch" else batch.advantage
        log_ratio = jax.vmap(log_probability)(logits, batch.actions) - batch.log_probability
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1 - self.clip, 1 + self.clip)
        policy_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage))
        value_loss = mean((value - batch.value_target) ** 2)
        undecided = mean(entropy(logits))
        total = policy_loss + self.value_weight * value_loss - self.entropy(progress) * undecided
        return total, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": undecided,
            "kl": mean(ratio - 1 - log_ratio),
            "clip_fraction": mean((jnp.abs(ratio - 1) > self.clip).astype(jnp.float32)),
        }
