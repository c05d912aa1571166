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
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.chunks import over_chunk
from openteam.core.types import Observation, Spec, Truth
from openteam.models.agent import RelationalForwardModel
from openteam.models.belief.decoder import Decoder, log_likelihood, log_normal
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
FLOOR = 0.05  # the smallest spread of a state
CERTAINTY = 3.0  # states begin with a spread of about 0.1: larger, and at first nothing can be made out but noise


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


class Proposal(eqx.Module):
    """What a particle's guess was drawn from."""

    action: Float[Array, "*batch slots actions"]  # logits
    features: Float[Array, "*batch slots width"]  # what existence was inferred from
    mean: Float[Array, "*batch slots state"]
    spread: Float[Array, "*batch slots state"]


class Transition(eqx.Module):
    """P(e_t, s_t | before): existence one agent after the other, and a normal distribution of states."""

    trunk: MLP
    existence: Existence
    normal: Linear

    def __init__(self, key: Key[Array, ""], sizes: tuple[int, ...], *, width: int, state: int):
        k_trunk, k_existence, k_normal = jax.random.split(key, 3)
        self.trunk = MLP(k_trunk, sizes, width, width)
        self.existence = Existence(k_existence, width, width=width // 2)
        self.normal = Linear(k_normal, width, 2 * state)

    def __call__(self, *inputs: Float[Array, "slots _"]) -> tuple[Array, Array, Array]:
        """What existence is inferred from, and mean and spread of the state."""
        features = jax.nn.relu(self.trunk(*inputs))
        mean, spread = jnp.split(self.normal(features), 2, -1)
        return features, mean, jax.nn.softplus(spread - CERTAINTY) + FLOOR


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
        self.proposed = Transition(k_proposed, (state + actions + 1, sight), width=width, state=state)
        self.target = Transition(k_target, (state + actions + 1,), width=width, state=state)
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
        after = self.advance(memory, self.draw(key, len(seen.visible)), seen, starts)
        return hypotheses(after, self.expect(after)), after

    def advance(self, memory: Particles, noise: Noise, seen: Observation, starts: Bool[Array, ""]) -> Particles:
        """One step of the filter: forget if an episode starts, resample, guess and weigh."""
        memory = forget(memory, starts)
        before = gather(memory, self.resample(memory.log_weight, noise.resample))
        after, proposal = self.propose(before, noise, seen)
        return weighed(after, self.weigh(before, self.expect(before), after, proposal, seen))

    def follow(self, key: Key[Array, ""], memory: Particles, seen: Observation) -> Hypotheses:
        after, _ = self.propose(memory, self.draw(key, len(seen.visible)), seen)
        return hypotheses(after, self.expect(after))

    def expect(self, particles: Particles) -> Float[Array, "samples slots actions"]:
        """The agent model: logits of what everybody does next."""
        return jax.vmap(self.agent)(known(particles), particles.exists)

    def resample(self, log_weight: Float[Array, "samples"], uniform: Float[Array, "samples"]) -> Int[Array, "samples"]:
        """Which particles go on, drawn with replacement, by weight."""
        if self.resampling == "systematic":
            return systematic(uniform[0], log_weight)
        return multinomial(uniform, log_weight)

    def propose(self, before: Particles, noise: Noise, seen: Observation) -> tuple[Particles, Proposal]:
        """Every particle one step on, as it guesses in the light of the observation; not yet weighed."""
        sight = self.sight(seen)
        return jax.vmap(self.propose_one, (0, 0, None, None, None))(before, noise, seen, sight, None)

    def sight(self, seen: Observation) -> Float[Array, "slots sight"]:
        """What is made of an observation."""
        return jax.nn.relu(self.see(seen.agents, seen.shared))

    def propose_one(
        self,
        before: Particles,
        noise: Noise,
        seen: Observation,
        sight: Float[Array, "slots sight"],
        exists: Float[Array, "slots"] | None,
    ) -> tuple[Particles, Proposal]:
        """Draw actions, existence (unless it is known how that was drawn) and states, and update types."""
        guess = self.proposed_action(jnp.concatenate([known(before), sight], -1), before.exists)
        action = straight_through(guess + noise.actions) * before.exists[:, None]
        action = action.at[0].set(seen.shared[-self.spec.actions :])
        features, mean, spread = self.proposed(history(before, action), sight)
        if exists is None:
            exists = self.proposed.existence.infer(features, known=seen.visible, uniform=noise.exists)
        state = (mean + spread * noise.state) * exists[:, None]
        types = self.types.step(before.type, jnp.concatenate([state, action], -1), exists == 0)
        types = Memory(types.hidden * exists[:, None], types.cell * exists[:, None], before.type.gates)
        after = Particles(action, exists, state, types, before.log_weight, noise)
        return after, Proposal(guess, features, mean, spread)

    def weigh(
        self,
        before: Particles,
        expected: Float[Array, "samples slots actions"],
        after: Particles,
        proposal: Proposal,
        seen: Observation,
    ) -> Float[Array, "samples"]:
        """The logarithm of every particle's weight."""
        return jax.vmap(self.weigh_one, (0, 0, 0, 0, None))(before, expected, after, proposal, seen)

    def weigh_one(
        self,
        before: Particles,
        expected: Float[Array, "slots actions"],
        after: Particles,
        proposal: Proposal,
        seen: Observation,
    ) -> Float[Array, ""]:
        """How much likelier the guess was without the observation's light, and how well it explains the observation."""
        exists, action = after.exists, after.action
        action_weight = log_chosen(expected, action) - log_chosen(proposal.action, action)

        target, mean, spread = self.target(history(before, action))
        drawn = log_bernoulli(self.proposed.existence.logits(proposal.features, exists=exists), exists)
        drawn = jax.lax.stop_gradient(jnp.where(seen.visible, 0, drawn))
        existence_weight = log_bernoulli(self.target.existence.logits(target, exists=exists), exists) - drawn
        ratio = log_normal(after.state, mean, spread) - log_normal(after.state, proposal.mean, proposal.spread)

        decoded = self.observation(jnp.concatenate([after.state, action], -1), exists)
        rows, shared = observed(seen)
        rows_weight = log_normal(rows, decoded.rows, decoded.rows_spread).sum(-1)
        shared_weight = log_normal(shared, decoded.shared, decoded.shared_spread).sum()
        of_slots = (action_weight + existence_weight).at[0].set(0) + ratio.sum(-1) * exists + rows_weight
        return (jnp.sum if self.over_slots == "sum" else jnp.mean)(of_slots) + shared_weight

    def replay(
        self,
        key: Key[Array, ""],
        before: Particles,
        memory: Particles,
        seen: Observation,
        starts: Bool[Array, "time envs"],
        truth: Truth,
    ) -> tuple[Hypotheses, Terms]:
        """Only guesses depend on earlier guesses. Who went on and who existed is recorded, and weights can wait."""
        del key
        recorded = jnp.concatenate([before.log_weight[None], memory.log_weight[:-1]])
        recorded = jnp.where(starts[..., None], 0, recorded)
        ancestors = over_chunk(self.resample)(recorded, memory.noise.resample)
        propose = jax.vmap(jax.vmap(self.propose_one, (0, 0, None, None, 0)))

        def step(particles: Particles, now: tuple) -> tuple[Particles, tuple[Particles, Particles, Proposal]]:
            starts, ancestors, *given = now
            chosen = jax.vmap(gather)(jax.vmap(forget)(particles, starts), ancestors)
            after, proposal = propose(chosen, *given)
            return after, (chosen, after, proposal)

        steps = (starts, ancestors, memory.noise, seen, over_chunk(self.sight)(seen), memory.exists)
        _, (chosen, after, proposal) = jax.lax.scan(step, before, steps, unroll=min(len(starts), 8))
        logits = over_chunk(self.expect)(after)
        earlier = jnp.concatenate([jax.vmap(self.expect)(before)[None], logits[:-1]])
        expected = over_chunk(gather)(earlier, ancestors)  # at an episode's start nobody was there to act
        particles = weighed(after, over_chunk(self.weigh)(chosen, expected, after, proposal, seen))
        told = hypotheses(particles, logits)
        return told, self.terms(told, proposal.features, truth)

    def terms(self, told: Hypotheses, features: Float[Array, "time envs samples slots width"], truth: Truth) -> Terms:
        """The negative evidence lower bound, and what the truth teaches; means over the chunk."""
        rows, shared = true_state(truth)
        there = truth.exists.astype(rows.dtype)

        def one(hypotheses: Hypotheses, features: Array, rows: Array, shared: Array, there: Array) -> tuple:
            of_state = jax.vmap(log_likelihood, (0, None, None, None))(self.decode(hypotheses), rows, shared, there > 0)
            existence = jax.vmap(lambda rows: log_bernoulli(self.proposed.existence.logits(rows, exists=there), there))
            return of_state.mean(), existence(features)[:, 1:].mean()

        state, existence = over_chunk(one)(told, features, rows, shared, there)
        return {
            "belief_loss": -over_chunk(log_mean_exp)(told.log_weight).mean(),
            "state_loss": -state.mean(),
            "existence_loss": -existence.mean(),
        }

    def decode(self, hypotheses: Hypotheses) -> Decoded:
        return jax.vmap(self.state)(hypotheses.representation, hypotheses.exists)


def hypotheses(particles: Particles, logits: Float[Array, "*batch slots actions"]) -> Hypotheses:
    """Particles as GPL sees them: of every agent its state and its type."""
    return Hypotheses(known(particles), particles.exists, particles.log_weight, logits)


def weighed(particles: Particles, log_weight: Float[Array, "*batch"]) -> Particles:
    """The same particles with these weights."""
    return eqx.tree_at(lambda p: p.log_weight, particles, log_weight)


def forget(particles: Particles, starts: Bool[Array, ""]) -> Particles:
    """At an episode's start nobody exists, and all particles are alike."""
    return jax.tree.map(lambda leaf: jnp.where(starts, 0, leaf), particles)


def known(particles: Particles) -> Float[Array, "*batch slots known"]:
    """State and type of every agent."""
    return jnp.concatenate([particles.state, particles.type.hidden], -1)


def history(before: Particles, action: Float[Array, "slots actions"]) -> Float[Array, "slots history"]:
    """What a transition starts from: every agent's last state, what it did there, and whether it existed."""
    return jnp.concatenate([before.state, action, before.exists[:, None]], -1)


def log_chosen(logits: Float[Array, "slots actions"], action: Float[Array, "slots actions"]) -> Float[Array, "slots"]:
    """log p(a) of one-hot actions; 0 of no action."""
    return (jax.nn.log_softmax(logits) * action).sum(-1)


def straight_through(perturbed: Float[Array, "*batch actions"]) -> Float[Array, "*batch actions"]:
    """The largest of perturbed logits as a one-hot vector, whose gradient is that of their softmax."""
    soft = jax.nn.softmax(perturbed)
    hard = jax.nn.one_hot(jnp.argmax(perturbed, -1), perturbed.shape[-1])
    return soft + jax.lax.stop_gradient(hard - soft)
