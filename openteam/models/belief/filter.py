"""A particle filter whose models are all learned, the belief of Deep Variational Reinforcement Learning (Igl et al.).

A particle is a memory h. With every observation o it proposes a latent z, which says what h did not know, and is
weighted by how well both explain o.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.models.belief.normal import NormalNetwork
from openteam.models.belief.resampling import gather, systematic
from openteam.models.gru import GRU
from openteam.models.layers import MLP, Linear


class Particles(eqx.Module):
    """What a belief goes on with."""

    hidden: Float[Array, "*batch particles hidden"]
    log_weight: Float[Array, "*batch particles"]


class Noise(eqx.Module):
    """All the chance in one step: one uniform number, and standard normal ones."""

    resampling: Float[Array, "*batch"]
    proposal: Float[Array, "*batch particles latent"]


class Filter(eqx.Module):
    """Proposal q, prior p(z), emission p(o) and transition, all of them given the learner's last action a.

    With phi for what is encoded, a step of each of K particles is

        h ~ the particles, in proportion to their weights (systematic resampling)
        z ~ q(z | phi(o), h, phi(a))
        w = p(z | h, phi(a)) p(o | phi(z), h, phi(a)) / q(z | phi(o), h, phi(a))
        h <- GRU([phi(o), phi(z), phi(a)], h)

    and log((1 / K) sum_k w_k) estimates, from below, how likely o was: the step's part of the evidence lower bound.
    """

    observation: MLP
    action: Linear
    latent: Linear
    proposal: NormalNetwork
    prior: NormalNetwork
    emission: NormalNetwork
    transition: GRU
    particles: int = eqx.field(static=True)

    def __init__(
        self, key: Key[Array, ""], inputs: int, actions: int, *,
        particles: int, observation_width: int, action_size: int, latent: int, hidden: int,
    ):  # fmt: skip
        keys = jax.random.split(key, 7)
        self.observation = MLP(keys[0], inputs, observation_width, observation_width)
        self.action = Linear(keys[1], actions, action_size)
        self.latent = Linear(keys[2], latent, hidden)
        self.proposal = NormalNetwork(keys[3], (observation_width, hidden, action_size), (hidden,), latent)
        self.prior = NormalNetwork(keys[4], (hidden, action_size), (hidden,), latent)
        self.emission = NormalNetwork(
            keys[5], (hidden, hidden, action_size), (observation_width, observation_width), inputs
        )
        self.transition = GRU(keys[6], (observation_width, hidden, action_size), hidden)
        self.particles = particles

    def start(self) -> tuple[Particles, Noise]:
        """Particles that have seen nothing, and no chance at all."""
        hidden, latent = self.transition.width, len(self.latent.weights[0])
        particles = Particles(jnp.zeros((self.particles, hidden)), jnp.zeros(self.particles))
        return particles, Noise(jnp.zeros(()), jnp.zeros((self.particles, latent)))

    def draw(self, key: Key[Array, ""]) -> Noise:
        """Chance for one step."""
        k_resampling, k_proposal = jax.random.split(key)
        shape = (self.particles, len(self.latent.weights[0]))
        return Noise(jax.random.uniform(k_resampling), jax.random.normal(k_proposal, shape))

    def step(
        self,
        particles: Particles,
        seen: Float[Array, "inputs"],
        previous: Int[Array, ""],
        starts: Bool[Array, ""],
        noise: Noise,
    ) -> tuple[Particles, Float[Array, "particles hidden"]]:
        """The particles after one more observation, and phi(z). An episode's start has no past and no last action."""
        past: Particles = jax.tree.map(lambda leaf: jnp.where(starts, 0, leaf), particles)
        hidden = gather(past.hidden, systematic(noise.resampling, past.log_weight))
        encoded = jax.nn.relu(self.observation(seen))
        actions = len(self.action.weights[0])
        did = jax.nn.relu(self.action(jax.nn.one_hot(jnp.where(starts, -1, previous), actions)))

        proposal = self.proposal(encoded, hidden, did)
        z = proposal.sample(noise.proposal)
        latent = jax.nn.relu(self.latent(z))
        explained = self.prior(hidden, did).log_density(z) + self.emission(latent, hidden, did).log_density(seen)
        log_weight = explained - proposal.log_density(z)
        return Particles(self.transition(hidden, encoded, latent, did), log_weight), latent
