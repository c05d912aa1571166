"""A belief as a set of particles, updated by auto-encoding sequential Monte Carlo (paper, "Particle-based Belief").

A particle says of every agent what it did last, whether it exists, its state and its type. A step draws particles anew
by weight, lets every one of them guess in the light of the observation (the proposals), and weighs it by how likely its
guess was without that light (the targets) and how well it explains the observation:

    w = log p(a) / q(a) + log p(e, s) / q(e, s) + log p(o)
"""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.core.chunks import over_chunk
from openteam.core.types import Observation, Spec, Truth
from openteam.models.agent import RelationalForwardModel
from openteam.models.belief.decoder import FLOOR, Decoder, log_likelihood, log_normal
from openteam.models.belief.existence import Existence, log_bernoulli
from openteam.models.belief.hypotheses import (
    AbstractBelief,
    Decoded,
    Hypotheses,
    Terms,
    observed,
    preprocessed,
    true_state,
)
from openteam.models.belief.resampling import gather, log_mean_exp, multinomial, systematic
from openteam.models.layers import MLP, Linear
from openteam.models.lstm import LSTM, Memory

Resampling = Literal["multinomial", "systematic"]
Slots = Literal["sum", "mean"]


class Noise(eqx.Module):
    """All the chance of one step. An axis of the batch is that of particles."""

    resample: Float[Array, "*batch"]
    actions: Float[Array, "*batch slots actions"]
    exists: Float[Array, "*batch slots"]
    state: Float[Array, "*batch slots state"]


class Particles(eqx.Module):
    """What every particle says, and the chance that led to it, so that an update can repeat the step."""

    action: Float[Array, "*batch slots actions"]  # one-hot, or zeros for those who did not exist
    exists: Float[Array, "*batch slots"]
    state: Float[Array, "*batch slots state"]
    type: Memory  # of the type update network; its hidden state is the type
    log_weight: Float[Array, "*batch"]
    noise: Noise


class Transition(eqx.Module):
    """P(e_t, s_t | before): existence one agent after the other, and a normal distribution of states."""

    trunk: MLP
    existence: Existence
    normal: Linear

    def __init__(self, key: Key[Array, ""], sizes: tuple[int, ...], *, width: int, state: int):
        k_trunk, k_existence, k_normal = jax.random.split(key, 3)
        self.trunk = MLP(k_trunk, sizes, width, width)
        self.existence = Existence(k_existence, width, width=width)
        self.normal = Linear(k_normal, width, 2 * state)

    def __call__(self, *inputs: Float[Array, "slots _"]) -> tuple[Array, Array, Array]:
        """What existence is inferred from, and mean and spread of the state."""
        known = jax.nn.relu(self.trunk(*inputs))
        mean, spread = jnp.split(self.normal(known), 2, -1)
        return known, mean, jax.nn.softplus(spread) + FLOOR


class ParticleBelief(AbstractBelief):
    """The latent variable inference network."""

    see: MLP
    proposed_action: RelationalForwardModel
    agent: RelationalForwardModel  # the target action distribution, and GPL's agent model
    proposed: Transition
    target: Transition
    types: LSTM
    observation: Decoder
    state: Decoder
    spec: Spec = eqx.field(static=True)
    particles: int = eqx.field(static=True)
    sizes: tuple[int, int] = eqx.field(static=True)  # of a state and a type
    resampling: Resampling = eqx.field(static=True)
    over_slots: Slots = eqx.field(static=True)
    resamples: bool = eqx.field(static=True, default=True)

    def __init__(
        self, key: Key[Array, ""], spec: Spec, *,
        particles: int, sight: int, state: int, type_size: int, width: int, learned_spread: bool,
        resampling: Resampling, over_slots: Slots, agent: dict[str, Any],
    ):  # fmt: skip
        k_see, k_guess, k_agent, k_proposed, k_target, k_types, k_observation, k_state = jax.random.split(key, 8)
        seen, actions = preprocessed(spec), spec.actions
        self.see = MLP(k_see, (seen.agent_features, seen.shared_features), width, sight)
        self.proposed_action = RelationalForwardModel(k_guess, state + type_size + sight, actions, **agent)
        self.agent = RelationalForwardModel(k_agent, state + type_size, actions, **agent)
        self.proposed = Transition(k_proposed, (state, actions, 1, sight), width=width, state=state)
        self.target = Transition(k_target, (state, actions, 1), width=width, state=state)
        self.types = LSTM(k_types, state + actions, type_size)
        self.observation = Decoder(k_observation, state + actions, spec, width=width, learned_spread=learned_spread)
        self.state = Decoder(k_state, state + type_size, spec, width=width, learned_spread=learned_spread)
        self.spec, self.particles, self.sizes = spec, particles, (state, type_size)
        self.resampling, self.over_slots = resampling, over_slots

    def start(self, slots: int) -> Particles:
        """Nobody exists, and all particles are alike."""
        shape, (state, type_size) = (self.particles, slots), self.sizes
        types = Memory(*(jnp.zeros((*shape, size)) for size in (type_size, type_size, 0)))
        noise = Noise(
            jnp.zeros(self.particles),
            jnp.zeros((*shape, self.spec.actions)),
            jnp.zeros(shape),
            jnp.zeros((*shape, state)),
        )
        nothing = jnp.zeros((*shape, self.spec.actions)), jnp.zeros(shape), jnp.zeros((*shape, state))
        return Particles(*nothing, types, jnp.zeros(self.particles), noise)

    def draw(self, key: Key[Array, ""], slots: int) -> Noise:
        """The chance of one step."""
        k_resample, k_actions, k_exists, k_state = jax.random.split(key, 4)
        shape = (self.particles, slots)
        uniform = jax.random.uniform(k_actions, (*shape, self.spec.actions), minval=1e-7)
        return Noise(
            jax.random.uniform(k_resample, (self.particles,)),
            -jnp.log(-jnp.log(uniform)),
            jax.random.uniform(k_exists, shape),
            jax.random.normal(k_state, (*shape, self.sizes[0])),
        )

    def step(
        self, key: Key[Array, ""], memory: Particles, seen: Observation, starts: Bool[Array, ""]
    ) -> tuple[Hypotheses, Particles]:
        after, _ = self.advance(memory, self.draw(key, len(seen.visible)), seen, starts)
        return hypotheses(after), after

    def follow(self, key: Key[Array, ""], memory: Particles, seen: Observation) -> Hypotheses:
        return hypotheses(self.predict(memory, self.draw(key, len(seen.visible)), seen)[0])

    def advance(
        self, memory: Particles, noise: Noise, seen: Observation, starts: Bool[Array, ""]
    ) -> tuple[Particles, Float[Array, "samples slots width"]]:
        """One step of the filter: forget if an episode starts, resample, predict and weigh."""
        memory = jax.tree.map(lambda leaf: jnp.where(starts, 0, leaf), memory)
        return self.predict(self.resample(memory, noise.resample), noise, seen)

    def resample(self, memory: Particles, uniform: Float[Array, "samples"]) -> Particles:
        """Particles drawn with replacement, by weight."""
        if self.resampling == "systematic":
            chosen = systematic(uniform[0], memory.log_weight)
        else:
            chosen = multinomial(uniform, memory.log_weight)
        return gather(memory, chosen)

    def predict(
        self, memory: Particles, noise: Noise, seen: Observation
    ) -> tuple[Particles, Float[Array, "samples slots width"]]:
        """Every particle one step on and weighed, and what its proposal inferred existence from."""
        sight = jax.nn.relu(self.see(seen.agents, seen.shared))
        return jax.vmap(self.predict_one, (0, 0, None, None))(memory, noise, seen, sight)

    def predict_one(
        self, particle: Particles, noise: Noise, seen: Observation, sight: Float[Array, "slots sight"]
    ) -> tuple[Particles, Float[Array, "slots width"]]:
        known = jnp.concatenate([particle.state, particle.type.hidden], -1)
        # Joint action inference
        guess = self.proposed_action(jnp.concatenate([known, sight], -1), particle.exists)
        action = straight_through(guess + noise.actions) * particle.exists[:, None]
        action = action.at[0].set(seen.shared[-self.spec.actions :])
        action_weight = log_chosen(self.agent(known, particle.exists), action) - log_chosen(guess, action)
        # Existence and state inference
        before = particle.state, action, particle.exists[:, None]
        proposed, mean, spread = self.proposed(*before, sight)
        exists, logits = self.proposed.existence.infer(proposed, known=seen.visible, uniform=noise.exists)
        state = (mean + spread * noise.state) * exists[:, None]
        target, target_mean, target_spread = self.target(*before)
        target_logits = self.target.existence.logits(target, exists=exists)
        chosen = jax.lax.stop_gradient(jnp.where(seen.visible, 0, log_bernoulli(logits, exists)))
        existence_weight = log_bernoulli(target_logits, exists) - chosen
        ratio = log_normal(state, target_mean, target_spread) - log_normal(state, mean, spread)
        state_weight = ratio.sum(-1) * exists
        # Type update
        rows = jnp.concatenate([state, action], -1)
        types = self.types.step(particle.type, rows, exists == 0)
        types = Memory(types.hidden * exists[:, None], types.cell * exists[:, None], particle.type.gates)
        # Weight
        decoded = self.observation(rows, exists)
        rows_seen, shared_seen = observed(seen)
        observation_weight = log_normal(rows_seen, decoded.rows, decoded.rows_spread).sum(-1)
        shared_weight = log_normal(shared_seen, decoded.shared, decoded.shared_spread).sum()
        over = jnp.sum if self.over_slots == "sum" else jnp.mean
        of_slots = (action_weight + existence_weight).at[0].set(0) + state_weight + observation_weight
        return Particles(action, exists, state, types, over(of_slots) + shared_weight, noise), proposed

    def replay(
        self,
        key: Key[Array, ""],
        before: Particles,
        memory: Particles,
        seen: Observation,
        starts: Bool[Array, "time envs"],
        truth: Truth,
    ) -> tuple[Hypotheses, Terms]:
        del key

        def step(particles: Particles, now: tuple) -> tuple[Particles, tuple]:
            particles, proposed = jax.vmap(self.advance)(particles, *now)
            return particles, (particles, proposed)

        # A step is computed again for its gradient. To keep it was no faster, and took more memory to compile.
        _, (particles, proposed) = jax.lax.scan(jax.checkpoint(step), before, (memory.noise, seen, starts))
        return hypotheses(particles), self.terms(particles, proposed, truth)

    def terms(
        self, particles: Particles, proposed: Float[Array, "time envs samples slots width"], truth: Truth
    ) -> Terms:
        """The negative evidence lower bound, and what the truth teaches; means over the chunk."""
        rows, shared = true_state(truth)
        there = truth.exists.astype(rows.dtype)

        def one(hypotheses: Hypotheses, proposed: Array, rows: Array, shared: Array, there: Array) -> tuple:
            of_state = jax.vmap(log_likelihood, (0, None, None, None))(self.decode(hypotheses), rows, shared, there > 0)
            existence = jax.vmap(lambda rows: log_bernoulli(self.proposed.existence.logits(rows, exists=there), there))
            return of_state.mean(), existence(proposed)[:, 1:].mean()

        state, existence = over_chunk(one)(hypotheses(particles), proposed, rows, shared, there)
        return {
            "belief_loss": -over_chunk(log_mean_exp)(particles.log_weight).mean(),
            "state_loss": -state.mean(),
            "existence_loss": -existence.mean(),
        }

    def action_logits(self, hypotheses: Hypotheses) -> Float[Array, "samples slots actions"]:
        return jax.vmap(self.agent)(hypotheses.representation, hypotheses.exists)

    def decode(self, hypotheses: Hypotheses) -> Decoded:
        return jax.vmap(self.state)(hypotheses.representation, hypotheses.exists)


def hypotheses(particles: Particles) -> Hypotheses:
    """Particles as GPL sees them: of every agent its state and its type."""
    return Hypotheses(
        jnp.concatenate([particles.state, particles.type.hidden], -1), particles.exists, particles.log_weight
    )


def log_chosen(logits: Float[Array, "slots actions"], action: Float[Array, "slots actions"]) -> Float[Array, "slots"]:
    """log p(a) of one-hot actions; 0 of no action."""
    return (jax.nn.log_softmax(logits) * action).sum(-1)


def straight_through(perturbed: Float[Array, "*batch actions"]) -> Float[Array, "*batch actions"]:
    """The largest of perturbed logits as a one-hot vector, whose gradient is that of their softmax."""
    soft = jax.nn.softmax(perturbed)
    hard = jax.nn.one_hot(jnp.argmax(perturbed, -1), perturbed.shape[-1])
    return soft + jax.lax.stop_gradient(hard - soft)
