"""A belief as a set of particles, updated by auto-encoding sequential Monte Carlo (paper, "Particle-based Belief").

A step resamples particles by weight, lets each make a guess that fits the observation (the proposals), and weighs it by
how likely its guess was without the observation (the targets) and how well it explains the observation.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from openteam.core.checked import AbstractChecked
from openteam.core.types import Chunk, Observation, Spec, Truth, View, over_chunk
from openteam.errors import check_positive
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.decoder import Decoder, log_likelihood
from openteam.models.belief.existence import log_bernoulli
from openteam.models.belief.hypotheses import AbstractBelief, Decoded, Hypotheses, Losses, preprocess, true_state
from openteam.models.belief.latent_models import ParticleModels, Proposal, ProposalModel, TargetModel
from openteam.models.belief.particle_weight import ParticleWeights, weight_terms
from openteam.models.belief.particles import (
    Guess,
    GuessNoise,
    Noise,
    ParticleMemory,
    Particles,
    WeightTerms,
    forget,
    recall,
    remember,
)
from openteam.models.belief.posterior import Reduction
from openteam.models.belief.resampling import AbstractResampling, gather, log_mean_exp


class ParticleSizes(AbstractChecked):
    """Sizes of the particle filter's networks."""

    encoding: int = eqx.field(static=True, default=24)
    """Length of an encoded observation, for every agent."""
    state: int = eqx.field(static=True, default=24)
    """Length of a state vector."""
    type_size: int = eqx.field(static=True, default=24)
    """Length of a type vector."""
    width: int = eqx.field(static=True, default=32)
    """Width of the other layers; those that infer existence have half of it."""

    def __check_init__(self) -> None:
        check_positive(self, "encoding", "state", "type_size", "width")


class ParticleBelief(AbstractBelief):
    """The latent variable inference network."""

    proposals: ProposalModel
    targets: TargetModel
    state: Decoder
    resampling: AbstractResampling
    spec: Spec = eqx.field(static=True)
    sizes: ParticleSizes
    weights: ParticleWeights
    particles: int = eqx.field(static=True)
    over_slots: Reduction = eqx.field(static=True)
    detached_state: bool = eqx.field(static=True)

    def __init__(
        self, key: Key[Array, ""], spec: Spec, resampling: AbstractResampling, *,
        particles: int, over_slots: Reduction, sizes: ParticleSizes, learned_spread: bool, agent: AgentModelSizes,
        weights: ParticleWeights = ParticleWeights(), models: ParticleModels = ParticleModels(),
        detached_state: bool = False,
    ):  # fmt: skip
        k_encoder, k_guess, k_agent, k_proposed, k_target, k_types, k_observation, k_state = jax.random.split(key, 8)
        state, type_size, width = sizes.state, sizes.type_size, sizes.width
        self.proposals = ProposalModel(
            (k_encoder, k_guess, k_proposed, k_types), spec, agent,
            encoding=sizes.encoding, state=state, type_size=type_size, width=width, models=models,
        )  # fmt: skip
        self.targets = TargetModel(
            (k_agent, k_target, k_observation), spec, agent,
            state=state, type_size=type_size, width=width, learned_spread=learned_spread, models=models,
        )  # fmt: skip
        self.state = Decoder(k_state, state + type_size, spec, width=width, learned_spread=learned_spread)
        self.resampling, self.spec, self.sizes, self.weights = resampling, spec, sizes, weights
        self.particles, self.over_slots, self.detached_state = particles, over_slots, detached_state

    @property
    def resamples(self) -> bool:
        return True

    def start(self, slots: int) -> ParticleMemory:
        """Nobody exists, and all particles are alike."""
        shape, actions, sizes = (self.particles, slots), self.spec.actions, self.sizes
        action, state = jnp.zeros((*shape, actions)), jnp.zeros((*shape, sizes.state))
        exists, types = jnp.zeros(shape), jnp.zeros((*shape, sizes.type_size))
        even = jnp.zeros(self.particles)
        particles = Particles(Guess(action, exists, state, types, types), even)
        return remember(particles, Noise(even, GuessNoise(action, exists, state)))

    def draw(self, key: Key[Array, ""], slots: int) -> Noise:
        """The randomness of one step."""
        k_resample, k_actions, k_exists, k_state = jax.random.split(key, 4)
        shape = (self.particles, slots)
        uniform = jax.random.uniform(k_actions, (*shape, self.spec.actions), minval=1e-7)
        exists = jax.random.uniform(k_exists, shape)
        guess = GuessNoise(-jnp.log(-jnp.log(uniform)), exists, jax.random.normal(k_state, (*shape, self.sizes.state)))
        return Noise(jax.random.uniform(k_resample, (self.particles,)), guess)

    def step(self, key: Key[Array, ""], memory: ParticleMemory, view: View) -> tuple[Hypotheses, ParticleMemory]:
        noise = self.draw(key, len(view.new))
        after = self.advance(recall(memory)[0], noise, view)
        return hypotheses(after, self.predict(after.guess)), remember(after, noise)

    def advance(self, particles: Particles, noise: Noise, view: View) -> Particles:
        """One step of the filter: forget what is fresh, resample, guess and weigh."""
        ancestors = self.resampling(noise.resample, jnp.where(view.starts, 0, particles.log_weight))
        before = gather(forget(particles.guess, view.fresh), ancestors)
        seen = preprocess(view)
        after, proposal = self.propose(before, noise.guess, seen)
        terms = self.weigh(before, self.predict(before), after, proposal, seen)
        return Particles(after, self.weights(terms), terms)

    def follow(self, key: Key[Array, ""], memory: ParticleMemory, view: View) -> Hypotheses:
        particles, _ = recall(memory)
        before, noise = forget(particles.guess, view.fresh), self.draw(key, len(view.new))
        after, _ = self.propose(before, noise.guess, preprocess(view))
        return hypotheses(Particles(after, particles.log_weight), self.predict(after))

    def predict(self, guess: Guess) -> Float[Array, "particles slots actions"]:
        """The agent model's logits of everybody's next action."""
        return jax.vmap(self.targets.predict)(guess)

    def propose(self, before: Guess, noise: GuessNoise, seen: Observation) -> tuple[Guess, Proposal]:
        """Every particle's next guess, not yet weighed."""
        return jax.vmap(self.proposals, (0, 0, None, None))(before, noise, seen, self.proposals.encode(seen))

    def weigh(
        self,
        before: Guess,
        predicted: Float[Array, "particles slots actions"],
        after: Guess,
        proposal: Proposal,
        seen: Observation,
    ) -> WeightTerms:
        """The parts of the logarithm of every particle's weight."""

        def weigh_one(before: Guess, predicted: Array, after: Guess, proposal: Proposal) -> WeightTerms:
            return weight_terms(
                self.proposals, self.targets, before, predicted, proposal, after, seen,
                over_slots=self.over_slots, over_shared=self.weights.over_shared,
            )  # fmt: skip

        return jax.vmap(weigh_one)(before, predicted, after, proposal)

    def recorded_hypotheses(self, key: Key[Array, ""], chunk: Chunk) -> tuple[Hypotheses, Losses]:
        """Only guesses depend on earlier guesses. Ancestors and existence are recorded, and weights can wait."""
        del key  # the noise is recorded too
        view = chunk.timesteps.view
        seen = over_chunk(preprocess)(view)
        before, _ = jax.vmap(recall)(chunk.before)
        recorded, noise = over_chunk(recall)(chunk.memory)
        earlier = jnp.concatenate([before.log_weight[None], recorded.log_weight[:-1]])
        ancestors = over_chunk(self.resampling)(noise.resample, jnp.where(view.starts[..., None], 0, earlier))
        propose = jax.vmap(jax.vmap(self.proposals, (0, 0, None, None, 0)))

        def step(guess: Guess, now: tuple) -> tuple[Guess, tuple[Guess, Guess, Proposal]]:
            fresh, ancestors, *given = now
            chosen = jax.vmap(gather)(jax.vmap(forget)(guess, fresh), ancestors)
            after, proposal = propose(chosen, *given)
            return after, (chosen, after, proposal)

        encoded = over_chunk(self.proposals.encode)(seen)
        steps = (view.fresh, ancestors, noise.guess, seen, encoded, recorded.guess.exists)
        _, (chosen, after, proposal) = jax.lax.scan(step, before.guess, steps, unroll=min(len(ancestors), 8))
        logits = over_chunk(self.predict)(after)
        # One evaluation of the agent model serves the hypotheses of a step and the weights of the next.
        predicted = jnp.concatenate([jax.vmap(self.predict)(before.guess)[None], logits[:-1]])
        terms = over_chunk(self.weigh)(chosen, over_chunk(gather)(predicted, ancestors), after, proposal, seen)
        log_weight = recorded_where_new(self.weights(terms), recorded.log_weight, view)
        found = hypotheses(Particles(after, log_weight), logits)
        bound = log_weight if self.weights.by == "all" else terms.total
        losses = self.losses(found, proposal, chunk.truth) | {
            "belief_loss": -over_chunk(log_mean_exp)(bound).mean(),
            "proposal_entropy": mean_entropy(proposal.action, chosen.exists),
        }
        return found, losses

    def losses(self, hypotheses: Hypotheses, proposal: Proposal, truth: Truth) -> Losses:
        """What is learned from the truth; means over the chunk."""
        hypotheses = jax.lax.stop_gradient(hypotheses) if self.detached_state else hypotheses
        rows, shared = true_state(truth)
        truly = truth.exists.astype(rows.dtype)

        def one(hypotheses: Hypotheses, features: Array, rows: Array, shared: Array, truly: Array) -> tuple:
            decoded = self.decode(hypotheses)
            of_state = jax.vmap(log_likelihood, (0, None, None, None))(decoded, rows, shared, truly > 0)
            logits = jax.vmap(self.proposals.state.existence.logits, (0, None))(features, truly)
            return of_state.mean(), jax.vmap(log_bernoulli, (0, None))(logits, truly)[:, 1:].mean()

        state, existence = over_chunk(one)(hypotheses, proposal.features, rows, shared, truly)
        return {"state_loss": -state.mean(), "existence_loss": -existence.mean()}

    def decode(self, hypotheses: Hypotheses) -> Decoded:
        return jax.vmap(self.state)(hypotheses.representation, hypotheses.exists)


def recorded_where_new(
    log_weight: Float[Array, "*batch particles"], recorded: Float[Array, "*batch particles"], view: View
) -> Float[Array, "*batch particles"]:
    """The recorded value in a step that met somebody new, with the gradient of ``log_weight``.

    There the prediction that an update shares between steps was still about the last occupant, who is forgotten by now.
    (At an episode's start nobody is remembered to have acted, so no prediction counts.)
    """
    meets = view.fresh.any(-1) & ~view.starts
    return log_weight + jnp.where(meets[..., None], jax.lax.stop_gradient(recorded - log_weight), 0)


def mean_entropy(logits: Float[Array, "*batch slots actions"], acts: Float[Array, "*batch slots"]) -> Float[Array, ""]:
    """The entropy of a teammate's action, the mean over those who act."""
    entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1)
    return (entropy * acts)[..., 1:].sum() / jnp.maximum(acts[..., 1:].sum(), 1)


def hypotheses(particles: Particles, logits: Float[Array, "*batch slots actions"]) -> Hypotheses:
    """Particles as GPL uses them."""
    guess = particles.guess
    return Hypotheses(guess.representation, guess.exists, particles.log_weight, logits, particles.terms)
