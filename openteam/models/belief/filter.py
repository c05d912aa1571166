"""A particle filter whose models are all learned, the belief of Deep Variational Reinforcement Learning (Igl et al.).

A particle is a memory h. At every observation o it proposes a latent z for what h did not know, and is weighted by how
well both explain o.
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


class FilterState(eqx.Module):
    """The particles after a step; log weights need not be normalised."""

    hidden: Float[Array, "*batch particles hidden"]
    log_weight: Float[Array, "*batch particles"]


class FilterNoise(eqx.Module):
    """All random numbers of one step."""

    resampling: Float[Array, "*batch"]  # uniform
    proposal: Float[Array, "*batch particles latent"]  # standard normal


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

    def start(self) -> tuple[FilterState, FilterNoise]:
        """Particles that have seen nothing, and blank noise."""
        state = FilterState(jnp.zeros((self.particles, self.transition.width)), jnp.zeros(self.particles))
        return state, FilterNoise(jnp.zeros(()), jnp.zeros((self.particles, len(self.latent.weights[0]))))

    def draw(self, key: Key[Array, ""]) -> FilterNoise:
        """The random numbers of one step."""
        k_resampling, k_proposal = jax.random.split(key)
        shape = (self.particles, len(self.latent.weights[0]))
        return FilterNoise(jax.random.uniform(k_resampling), jax.random.normal(k_proposal, shape))

    def step(
        self,
        state: FilterState,
        seen: Float[Array, "inputs"],
        previous_action: Int[Array, ""],
        starts: Bool[Array, ""],
        noise: FilterNoise,
    ) -> tuple[FilterState, Float[Array, "particles hidden"]]:
        """The particles after one more observation, and phi(z). At an episode's start ``state`` is ignored."""
        past: FilterState = jax.tree.map(lambda leaf: jnp.where(starts, 0, leaf), state)
        hidden = gather(past.hidden, systematic(noise.resampling, past.log_weight))
        encoded = jax.nn.relu(self.observation(seen))
        one_hot = jax.nn.one_hot(previous_action, len(self.action.weights[0]))  # all zeros for NO_ACTION
        action = jax.nn.relu(self.action(one_hot))

        proposal = self.proposal(encoded, hidden, action)
        z = proposal.sample(noise.proposal)
        latent = jax.nn.relu(self.latent(z))
        explained = self.prior(hidden, action).log_density(z) + self.emission(latent, hidden, action).log_density(seen)
        log_weight = explained - proposal.log_density(z)
        return FilterState(self.transition(hidden, encoded, latent, action), log_weight), latent
