"""Independent PPO: one policy, trained in all slots at once, each slot on its own reward.

Proximal policy optimisation (Schulman et al., 2017) with generalised advantage estimation. It makes the learned
teammates, and is a learner like any other: trained jointly, evaluated alone among the pool's teammates.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.chunks import over_chunk
from openteam.algorithms.rules import Schedule
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.random import key as make_key
from openteam.core.types import Chunk, Observation, Spec
from openteam.errors import UserError, check_positive
from openteam.models.policy import NetworkPolicy, PolicyNetwork, possible


class ActorCritic(eqx.Module):
    """Two networks, so that what values are worth does not pull at the policy, and the actor can be shipped alone."""

    actor: PolicyNetwork
    critic: PolicyNetwork


class Batch(eqx.Module):
    """Decisions to learn from, one a row."""

    obs: Observation
    actions: Int[Array, "*rows"]
    log_probability: Float[Array, "*rows"]  # of the action, when it was chosen
    advantage: Float[Array, "*rows"]
    value_target: Float[Array, "*rows"]
    weight: Float[Array, "*rows"]  # 0 where nobody was there to decide


class IPPO(AbstractLearner):
    """Independent PPO with shared parameters, without memory."""

    joint: ClassVar[bool] = True
    envs: int = eqx.field(static=True, default=64)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=32)
    """Steps of each environment between two updates."""
    epochs: int = eqx.field(static=True, default=4)
    """Times every decision is learned from."""
    minibatches: int = eqx.field(static=True, default=4)
    """Optimiser steps per epoch; a divisor of envs times update_every."""
    learning_rate: Schedule = Schedule(1e-3, 1e-5, 1.0)
    """Adam's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    trace: float = eqx.field(static=True, default=0.95)
    """lambda of generalised advantage estimation."""
    clip: float = eqx.field(static=True, default=0.2)
    """How far an action's probability may move in one update, as a ratio, before it stops counting."""
    entropy: Schedule = Schedule(0.02, 0.002, 1.0)
    """Weight of the bonus for undecided policies."""
    value_weight: float = eqx.field(static=True, default=0.5)
    """Weight of the critic's loss."""
    max_grad_norm: float = eqx.field(static=True, default=0.5)
    """Clip the gradient to this global norm."""
    mask_illegal: bool = eqx.field(static=True, default=True)
    """Consider only actions that have an effect. The largest single help in a short run."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training; 0 is greedy, and then agents may block each other."""
    width: int = eqx.field(static=True, default=64)
    """Width of all layers."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "epochs", "minibatches", "clip", "max_grad_norm", "width")
        if not (0 <= self.discount <= 1 and 0 <= self.trace <= 1):
            raise UserError(f"IPPO needs discount and trace in [0, 1]; got {self.discount}, {self.trace}.")
        if self.envs * self.update_every % self.minibatches:
            raise UserError(
                f"IPPO's minibatches must divide envs times update_every = {self.envs * self.update_every}; "
                f"got {self.minibatches}."
            )

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_actor, k_critic = jax.random.split(key)
        model = ActorCritic(
            PolicyNetwork(k_actor, spec, spec.actions, width=self.width, out_scale=0.01),
            PolicyNetwork(k_critic, spec, 1, width=self.width),
        )
        return TrainState(model, (), self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Without the step size, which depends on progress."""
        return optax.flatten(optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.scale_by_adam(eps=1e-5)))

    @property
    def masks(self) -> Bool[Array, ""]:
        return jnp.asarray(self.mask_illegal)

    def policy(self, model: ActorCritic, progress: Float[Array, ""]) -> NetworkPolicy:
        del progress
        return NetworkPolicy(model.actor, jnp.ones(()), self.masks)

    def frozen(self, model: ActorCritic) -> NetworkPolicy:
        return NetworkPolicy(model.actor, jnp.asarray(self.temperature), self.masks)

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

    def batch(self, model: ActorCritic, chunk: Chunk) -> Batch:
        """What a chunk teaches, according to the networks it was collected with."""
        obs = jax.tree.map(lambda leaf: leaf[:-1], chunk.timesteps.obs)
        led = jax.tree.map(lambda leaf: leaf[1:], chunk.timesteps)
        weight = chunk.truth.exists[..., 0].astype(jnp.float32)
        value = over_chunk(model.critic)(obs)[..., 0]
        next_value = over_chunk(model.critic)(led.final_obs)[..., 0]
        goes_on = self.discount * led.discount
        surprise = led.reward + goes_on * next_value - value
        advantage = advantages(surprise, self.trace * goes_on * ~led.ends)
        mean = (weight * advantage).sum() / weight.sum()
        deviation = jnp.sqrt((weight * (advantage - mean) ** 2).sum() / weight.sum())
        rows = Batch(
            obs=obs,
            actions=chunk.actions,
            log_probability=over_chunk(log_probability)(over_chunk(self.logits(model))(obs), chunk.actions),
            advantage=(advantage - mean) / (deviation + 1e-8),
            value_target=value + advantage,
            weight=weight,
        )
        return jax.tree.map(lambda leaf: jax.lax.collapse(leaf, 0, 2), rows)

    def logits(self, model: ActorCritic) -> Any:
        """The policy's logits, as a function of one observation."""
        return lambda obs: possible(model.actor(obs), obs.legal, self.masks)

    def loss(self, model: ActorCritic, batch: Batch, progress: Float[Array, ""]) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate, the critic's squared error and the entropy bonus, means over those who were there."""
        logits = jax.vmap(self.logits(model))(batch.obs)
        value = jax.vmap(model.critic)(batch.obs)[:, 0]

        def mean(rows: Float[Array, "rows"]) -> Float[Array, ""]:
            return (batch.weight * rows).sum() / jnp.maximum(batch.weight.sum(), 1)

        log_ratio = jax.vmap(log_probability)(logits, batch.actions) - batch.log_probability
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1 - self.clip, 1 + self.clip)
        policy_loss = -mean(jnp.minimum(ratio * batch.advantage, clipped * batch.advantage))
        value_loss = mean((value - batch.value_target) ** 2)
        probability = jax.nn.softmax(logits)
        entropy = -mean((probability * jax.nn.log_softmax(logits)).sum(-1))
        total = policy_loss + self.value_weight * value_loss - self.entropy(progress) * entropy
        return total, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": mean(ratio - 1 - log_ratio),
            "clip_fraction": mean((jnp.abs(ratio - 1) > self.clip).astype(jnp.float32)),
        }


def advantages(surprise: Float[Array, "time rows"], decay: Float[Array, "time rows"]) -> Float[Array, "time rows"]:
    """A_t = surprise_t + decay_t A_(t+1): generalised advantage estimation, surprise being the one-step error."""

    def back(following: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        error, keeps = now
        advantage = error + keeps * following
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros(surprise.shape[1]), (surprise, decay), reverse=True)[1]


def log_probability(logits: Float[Array, "actions"], action: Int[Array, ""]) -> Float[Array, ""]:
    """log softmax(logits)[action]."""
    return jax.nn.log_softmax(logits)[action]
