"""The beliefs that BeliefGPL can hold: which networks, of which sizes, and the weights of their losses."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Key

from openteam.core.checked import AbstractChecked
from openteam.core.types import Spec
from openteam.errors import check_not_negative, check_positive
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.existence import AbstractExistenceRule, ExpectedExistence
from openteam.models.belief.hypotheses import AbstractBelief
from openteam.models.belief.latent_models import ParticleModels
from openteam.models.belief.particle_belief import ParticleBelief, ParticleSizes
from openteam.models.belief.particle_weight import ParticleWeights
from openteam.models.belief.posterior import Gaussian, Point, Reduction
from openteam.models.belief.recurrent import AutoencoderSizes, RecurrentBelief
from openteam.models.belief.resampling import AbstractResampling, Multinomial


class AbstractBeliefSettings(AbstractChecked):
    """A belief that has not been built yet."""

    @property
    @abstractmethod
    def representation_size(self) -> int:
        """Length of what a hypothesis says of an agent."""

    @property
    @abstractmethod
    def loss_weights(self) -> dict[str, float]:
        """The weight of each of the belief's losses, by name."""

    @abstractmethod
    def build(self, key: Key[Array, ""], spec: Spec, agent: AgentModelSizes) -> AbstractBelief:
        """The belief with new parameters; its models of actions have these sizes."""

    @abstractmethod
    def frozen(self, belief: Any) -> Any:
        """A belief that was built by this, as a frozen policy holds it."""


class Autoencoder(AbstractBeliefSettings):
    """AE-GPL: the memory of a recurrent encoder from which observation, state and actions can be decoded."""

    sizes: AutoencoderSizes = AutoencoderSizes()
    existence: AbstractExistenceRule = ExpectedExistence()
    """How much an unseen agent counts."""
    learned_spread: bool = eqx.field(static=True, default=False)
    """Decoders also learn how certain they are. If not their loss is the paper's squared error."""
    observation_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing what is seen."""
    state_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing the true state, which only training may read."""
    existence_weight: float = eqx.field(static=True, default=0.02)
    """Weight of the log likelihood of who exists."""

    def __check_init__(self) -> None:
        check_not_negative(self, "observation_weight", "state_weight", "existence_weight")

    @property
    def representation_size(self) -> int:
        return self.sizes.representation

    @property
    def loss_weights(self) -> dict[str, float]:
        return {
            "observation_loss": self.observation_weight,
            "state_loss": self.state_weight,
            "existence_loss": self.existence_weight,
        }

    def build(self, key: Key[Array, ""], spec: Spec, agent: AgentModelSizes) -> RecurrentBelief:
        return RecurrentBelief(
            key, spec, Point(), self.existence, sizes=self.sizes, learned_spread=self.learned_spread, agent=agent
        )

    def frozen(self, belief: RecurrentBelief) -> RecurrentBelief:
        return belief


class VariationalAutoencoder(AbstractBeliefSettings):
    """VAE-GPL: samples of a recurrent encoder's normal distribution of representations."""

    samples: int = eqx.field(static=True, default=10)
    """Representations drawn at every step."""
    density: Reduction = eqx.field(static=True, default="sum")
    """A sample's log weight: the sum (the paper) or the mean (the released code) of its numbers' log densities."""
    sizes: AutoencoderSizes = AutoencoderSizes()
    existence: AbstractExistenceRule = ExpectedExistence()
    """How much an unseen agent counts."""
    learned_spread: bool = eqx.field(static=True, default=True)
    """Decoders also learn how certain they are (the paper)."""
    observation_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing what is seen."""
    state_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing the true state, which only training may read."""
    existence_weight: float = eqx.field(static=True, default=0.02)
    """Weight of the log likelihood of who exists."""
    divergence_weight: float = eqx.field(static=True, default=0.001)
    """Weight of the divergence from the prior."""

    def __check_init__(self) -> None:
        check_positive(self, "samples")
        check_not_negative(self, "observation_weight", "state_weight", "existence_weight", "divergence_weight")

    @property
    def representation_size(self) -> int:
        return self.sizes.representation

    @property
    def loss_weights(self) -> dict[str, float]:
        return {
            "observation_loss": self.observation_weight,
            "state_loss": self.state_weight,
            "existence_loss": self.existence_weight,
            "divergence": self.divergence_weight,
        }

    def build(self, key: Key[Array, ""], spec: Spec, agent: AgentModelSizes) -> RecurrentBelief:
        posterior = Gaussian(self.samples, self.density)
        return RecurrentBelief(
            key, spec, posterior, self.existence, sizes=self.sizes, learned_spread=self.learned_spread, agent=agent
        )

    def frozen(self, belief: RecurrentBelief) -> RecurrentBelief:
        return belief


class ParticleFilter(AbstractBeliefSettings):
    """PF-GPL: particles, each with a joint value of its own."""

    particles: int = eqx.field(static=True, default=10)
    """How many particles make the belief."""
    resampling: AbstractResampling = Multinomial()
    """How particles are drawn: Multinomial (the paper) or Systematic (the released code)."""
    over_slots: Reduction = eqx.field(static=True, default="mean")
    """A particle's log weight is the mean (the released code) or the sum (the paper) over its agents. With the sum,
    hardly more than one particle counts (docs/belief.md)."""
    sizes: ParticleSizes = ParticleSizes()
    learned_spread: bool = eqx.field(static=True, default=False)
    """Decoders also learn how certain they are (the paper); if not they have a spread of 1 (the released code)."""
    belief_weight: float = eqx.field(static=True, default=1e-3)
    """Weight of the negative evidence lower bound, a sum over features where the other losses are means."""
    state_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing the true state, which only training may read."""
    existence_weight: float = eqx.field(static=True, default=0.02)
    """Weight of the log likelihood of who exists, under the proposal."""
    weights: ParticleWeights = ParticleWeights()
    """What particles are weighed by."""
    models: ParticleModels = ParticleModels()
    """What the distributions of particles are like."""
    entropy_weight: float = eqx.field(static=True, default=0.0)
    """Weight of a bonus for the entropy of the proposed actions; 0.05 in the released code."""
    detached_state: bool = eqx.field(static=True, default=False)
    """Reconstructing the true state trains its decoder only (the released code), not what particles say (the paper)."""

    def __check_init__(self) -> None:
        check_positive(self, "particles")
        check_not_negative(self, "belief_weight", "state_weight", "existence_weight", "entropy_weight")

    @property
    def representation_size(self) -> int:
        return self.sizes.state + self.sizes.type_size

    @property
    def loss_weights(self) -> dict[str, float]:
        return {
            "belief_loss": self.belief_weight,
            "state_loss": self.state_weight,
            "existence_loss": self.existence_weight,
            "proposal_entropy": -self.entropy_weight,
        }

    def build(self, key: Key[Array, ""], spec: Spec, agent: AgentModelSizes) -> ParticleBelief:
        return ParticleBelief(
            key, spec, self.resampling, particles=self.particles, over_slots=self.over_slots, sizes=self.sizes,
            learned_spread=self.learned_spread, agent=agent, weights=self.weights, models=self.models,
            detached_state=self.detached_state,
        )  # fmt: skip

    def frozen(self, belief: ParticleBelief) -> ParticleBelief:
        weights = belief.weights
        return eqx.tree_at(lambda b: b.weights, belief, weights.frozen, is_leaf=lambda part: part is weights)
