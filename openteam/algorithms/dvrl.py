"""Deep Variational Reinforcement Learning (Igl et al., 2018): an actor-critic on the belief of a particle filter.

A single agent, to whom its team is part of a world that it sees in part (paper, appendix "Baselines").
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.policy_gradient import entropy, log_probability, n_step_returns
from openteam.core.chunks import acted_on, led_to, over_chunk
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import Chunk, Observation, Spec
from openteam.errors import UserError, check_positive
from openteam.models.belief.filter import Filter, Noise, Particles
from openteam.models.belief.resampling import effective_sample_size, log_mean_exp
from openteam.models.flat import Flat
from openteam.models.layers import MLP, Linear
from openteam.models.orthogonal import HIDDEN_GAIN, orthogonal
from openteam.models.places import Placed, Places, check_places, count_places
from openteam.models.policy import draw_action, possible


class DVRLMemory(eqx.Module):
    """The belief after a step, and all that led there, so that an update can repeat the step."""

    particles: Particles
    action: Int[Array, "*batch"]  # the learner's own, chosen on this belief
    placed: Placed
    noise: Noise


class DVRLModel(eqx.Module):
    """One vector for the whole set of particles; the policy and the value are linear in it."""

    flat: Flat
    filter: Filter
    encoder: MLP
    actor: Linear
    critic: Linear
    time_limit_terminates: bool = eqx.field(static=True)

    def start(self, slots: int) -> DVRLMemory:
        particles, noise = self.filter.start()
        return DVRLMemory(particles, jnp.zeros((), jnp.int32), self.flat.start(slots), noise)

    def look(
        self, key: Key[Array, ""], memory: DVRLMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Float[Array, "belief"], DVRLMemory]:
        """The belief after one more observation. Of ``fresh``, nothing is used that cannot be seen."""
        placed, noise = self.flat.step(memory.placed, obs, fresh), self.filter.draw(key)
        starts, seen = fresh[0], self.flat(obs, placed.place)
        particles, latent = self.filter.step(memory.particles, seen, memory.action, starts, noise)
        return self.belief(particles, latent), DVRLMemory(particles, memory.action, placed, noise)

    def belief(self, particles: Particles, latent: Float[Array, "particles hidden"]) -> Float[Array, "belief"]:
        """[h, phi(z), normalised weight] of all particles in a row, through two layers."""
        weight = jax.nn.softmax(particles.log_weight)[:, None]
        return self.encoder(jnp.concatenate([particles.hidden, latent, weight], -1).reshape(-1))


class DVRLPolicy(AbstractPolicy):
    """Samples from logits that depend on a belief."""

    model: DVRLModel
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    masks: Bool[Array, ""]  # never takes an action without effect

    def start(self, slots: int) -> DVRLMemory:
        return self.model.start(slots)

    def act(
        self, key: Key[Array, ""], memory: DVRLMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], DVRLMemory]:
        k_look, k_draw = jax.random.split(key)
        belief, memory = self.model.look(k_look, memory, obs, fresh)
        action = draw_action(k_draw, possible(self.model.actor(belief), obs.legal, self.masks), self.temperature)
        return action, dataclasses.replace(memory, action=action)


class DVRL(AbstractLearner):
    """Defaults are the paper's settings; whatever it does not say is as in the authors' code."""

    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=5)
    """Steps of each environment between two updates; gradients lead back as far."""
    learning_rate: float = eqx.field(static=True, default=1e-3)
    """RMSProp's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    entropy: float = eqx.field(static=True, default=0.01)
    """Weight of the bonus for undecided policies."""
    value_weight: float = eqx.field(static=True, default=0.5)
    """Weight of the critic's loss."""
    belief_weight: float = eqx.field(static=True, default=1e-4)
    """Weight of the filter's loss, the negative evidence lower bound: a sum over all that is seen. At 0.1, as in the
    authors' example, it leaves the policy nothing to learn from (docs/dvrl.md)."""
    max_grad_norm: float = eqx.field(static=True, default=0.5)
    """Clip the gradient to this global norm."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training and in the authors' results; 0 is greedy."""
    places: int | None = eqx.field(static=True, default=None)
    """The most agents there can ever be; by default as many as the task's largest split has."""
    particles: int = eqx.field(static=True, default=10)
    """K."""
    observation_width: int = eqx.field(static=True, default=64)
    """Width of the layers that encode an observation, and of those that predict it."""
    action_size: int = eqx.field(static=True, default=16)
    """Length of an encoded action."""
    latent: int = eqx.field(static=True, default=100)
    """Length of z."""
    hidden: int = eqx.field(static=True, default=100)
    """Length of h, and width of all other layers."""

    def __check_init__(self) -> None:
        check_positive(
            self, "envs", "update_every", "learning_rate", "max_grad_norm", "particles", "observation_width",
            "action_size", "latent", "hidden",
        )  # fmt: skip
        check_places(self)
        if not 0 <= self.discount <= 1:
            raise UserError(f"DVRL needs a discount in [0, 1]; got {self.discount}.")

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_filter, k_encoder, k_actor, k_critic, k_layers, k_transition = jax.random.split(key, 6)
        flat = Flat(Places(count_places(self, spec)))
        particle_filter = Filter(
            k_filter, flat.size(spec), spec.actions, particles=self.particles, latent=self.latent, hidden=self.hidden,
            observation_width=self.observation_width, action_size=self.action_size,
        )  # fmt: skip
        encoder = MLP(k_encoder, self.particles * (2 * self.hidden + 1), self.hidden, self.hidden)
        heads = Linear(k_actor, self.hidden, spec.actions), Linear(k_critic, self.hidden, 1)
        model = DVRLModel(flat, particle_filter, encoder, *heads, spec.time_limit_terminates)
        model = orthogonal(k_layers, model, HIDDEN_GAIN)
        transition = orthogonal(k_transition, model.filter.transition, 1.0)
        model = eqx.tree_at(lambda m: m.filter.transition, model, transition)
        return TrainState(model, (), self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(self.max_grad_norm)
        return optax.flatten(
            optax.chain(clip, optax.rmsprop(self.learning_rate, decay=0.99, eps=1e-5, eps_in_sqrt=False))
        )

    @property
    def masks(self) -> Bool[Array, ""]:
        return jnp.asarray(self.mask_illegal)

    def policy(self, model: DVRLModel, progress: Float[Array, ""]) -> DVRLPolicy:
        del progress
        return DVRLPolicy(model, jnp.ones(()), self.masks)

    def frozen(self, model: DVRLModel) -> DVRLPolicy:
        return DVRLPolicy(model, jnp.asarray(self.temperature), self.masks)

    def context(self, state: TrainState, slots: int) -> tuple[()]:
        del state, slots
        return ()

    def update(
        self, state: TrainState, context: tuple[()], chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, tuple[()], Metrics]:
        del progress
        led, next_value = led_to(chunk), self.next_values(state, chunk)
        returns = n_step_returns(led.reward, self.discount * led.discount, led.ends, next_value)
        (_, metrics), gradient = jax.value_and_grad(self.loss, has_aux=True)(state.model, chunk, returns)
        step, opt_state = self.optimiser.update(gradient, state.opt_state, state.model)
        model: DVRLModel = eqx.apply_updates(state.model, step)
        metrics |= {"gradient_norm": optax.tree.norm(gradient)}
        return TrainState(model, (), opt_state, state.updates + 1), context, metrics

    def next_values(self, state: TrainState, chunk: Chunk) -> Float[Array, "time envs"]:
        """V where each action led. Where time limits are true ends only the last step's is asked for; others are 0."""
        steps = slice(-1 if state.model.time_limit_terminates else None, None)
        led = led_to(chunk)
        memory, final, joined = jax.tree.map(lambda leaf: leaf[steps], (chunk.memory, led.final_obs, led.joined))
        # Chance where actions led need not differ between runs, only between updates.
        keys = jax.random.split(jax.random.fold_in(make_key(0), state.updates), chunk.actions.shape)
        belief, _ = over_chunk(state.model.look)(keys[steps], memory, final, joined)
        return jnp.zeros(chunk.actions.shape).at[steps].set(state.model.critic(belief)[..., 0])

    def loss(
        self, model: DVRLModel, chunk: Chunk, returns: Float[Array, "time envs"]
    ) -> tuple[Float[Array, ""], Metrics]:
        """Policy gradient, squared error of the value, entropy bonus and evidence lower bound, means over the chunk."""
        particles, latent = replay(model, chunk)
        belief = over_chunk(model.belief)(particles, latent)
        legal = acted_on(chunk).obs.legal
        logits = over_chunk(lambda rows, legal: possible(rows, legal, self.masks))(model.actor(belief), legal)
        surprise = returns - model.critic(belief)[..., 0]
        likelihood = over_chunk(log_probability)(logits, chunk.actions)
        policy_loss = -(jax.lax.stop_gradient(surprise) * likelihood).mean()
        value_loss = (surprise**2).mean()
        undecided = entropy(logits).mean()
        belief_loss = -over_chunk(log_mean_exp)(particles.log_weight).mean()
        loss = policy_loss + self.value_weight * value_loss - self.entropy * undecided
        return loss + self.belief_weight * belief_loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": undecided,
            "belief_loss": belief_loss,
            "effective_particles": over_chunk(effective_sample_size)(particles.log_weight).mean(),
        }


def replay(model: DVRLModel, chunk: Chunk) -> tuple[Particles, Float[Array, "time envs particles hidden"]]:
    """The steps of a rollout with the chance they had, ready to be differentiated."""
    acted = acted_on(chunk)
    seen = over_chunk(model.flat)(acted.obs, chunk.memory.placed.place)
    previous = jnp.concatenate([chunk.before.action[None], chunk.actions[:-1]])

    def step(particles: Particles, now: tuple) -> tuple[Particles, tuple[Particles, Array]]:
        after = jax.vmap(model.filter.step)(particles, *now)
        return after[0], after

    steps = (seen, previous, acted.fresh[..., 0], chunk.memory.noise)
    return jax.lax.scan(step, chunk.before.particles, steps)[1]
