"""AE-GPL, VAE-GPL and PF-GPL by name: our defaults, the losses of the paper's equations, and the released code's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from openteam.algorithms import QLearning
from openteam.algorithms.belief_gpl import BeliefGPL
from openteam.algorithms.beliefs import Autoencoder, ParticleFilter, VariationalAutoencoder
from openteam.algorithms.released import PARTIAL_EPSILON
from openteam.core.learner import AbstractLearner
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.existence import AssumedExistence, SampledExistence
from openteam.models.belief.latent_models import ParticleModels
from openteam.models.belief.particle_belief import ParticleSizes
from openteam.models.belief.particle_weight import ParticleWeights
from openteam.models.belief.recurrent import AutoencoderSizes
from openteam.models.belief.resampling import Systematic
from openteam.models.joint_value import PerEdge


def ae_gpl() -> AbstractLearner:
    """GPL-Q on the memory of an autoencoder, for tasks of which the learner sees a part."""
    return BeliefGPL(belief=Autoencoder())


def vae_gpl() -> AbstractLearner:
    """GPL-Q on samples of a variational autoencoder's memory, for tasks of which the learner sees a part."""
    return BeliefGPL(belief=VariationalAutoencoder(samples=10))


def pf_gpl() -> AbstractLearner:
    """GPL-Q on ten particles that each guess what is hidden, for tasks of which the learner sees a part."""
    return BeliefGPL(belief=ParticleFilter(particles=10), utility_width=48, agent_model=AgentModelSizes(24, 24, 16))


def pf_gpl_5() -> AbstractLearner:
    """PF-GPL with five particles."""
    return BeliefGPL(belief=ParticleFilter(particles=5), utility_width=48, agent_model=AgentModelSizes(24, 24, 16))


def pf_gpl_1() -> AbstractLearner:
    """PF-GPL with a single particle."""
    return BeliefGPL(belief=ParticleFilter(particles=1), utility_width=48, agent_model=AgentModelSizes(24, 24, 16))


def ae_gpl_paper() -> AbstractLearner:
    """AE-GPL with the losses of the paper's equations, all of one weight, and values that shape no belief."""
    belief = Autoencoder(
        existence=AssumedExistence(), observation_weight=1.0, state_weight=1.0, existence_weight=0.0
    )  # fmt: skip
    return BeliefGPL(belief=belief, values_shape_belief=False, max_grad_norm=None)


def vae_gpl_paper() -> AbstractLearner:
    """VAE-GPL with the losses of the paper's equations, all of one weight, and values that shape no belief."""
    belief = VariationalAutoencoder(
        samples=10, existence=AssumedExistence(), observation_weight=1.0, state_weight=1.0, existence_weight=0.0,
        divergence_weight=1.0,
    )  # fmt: skip
    return BeliefGPL(belief=belief, values_shape_belief=False, max_grad_norm=None)


def pf_gpl_paper() -> AbstractLearner:
    """PF-GPL with the losses of the paper's equations, all of one weight, and values that shape no belief."""
    belief = ParticleFilter(
        over_slots="sum", learned_spread=True, belief_weight=1.0, state_weight=1.0, existence_weight=0.0
    )  # fmt: skip
    return BeliefGPL(
        belief=belief, values_shape_belief=False, max_grad_norm=None, utility_width=48,
        agent_model=AgentModelSizes(24, 24, 16),
    )  # fmt: skip


def ae_gpl_released() -> AbstractLearner:
    """AE-GPL with the sizes and weights of the released code."""
    belief = Autoencoder(
        AutoencoderSizes(hidden=200, representation=200), SampledExistence(), observation_weight=0.0,
        state_weight=0.001, existence_weight=0.02,
    )  # fmt: skip
    return BeliefGPL(
        belief=belief, agent_model_weight=0.005, pairwise=PerEdge(6), utility_width=70,
        agent_model=AgentModelSizes(100, 50, 50), control=QLearning(PARTIAL_EPSILON),
    )  # fmt: skip


def vae_gpl_released() -> AbstractLearner:
    """VAE-GPL with the sizes and weights of the released code."""
    belief = VariationalAutoencoder(
        samples=10, density="mean", sizes=AutoencoderSizes(hidden=200, representation=200),
        existence=AssumedExistence(), learned_spread=False, observation_weight=0.0, state_weight=0.001,
        existence_weight=0.001, divergence_weight=0.001,
    )  # fmt: skip
    return BeliefGPL(
        belief=belief, squares="mean", agent_model_weight=0.05, pairwise=PerEdge(6), utility_width=70,
        agent_model=AgentModelSizes(100, 50, 50), control=QLearning(PARTIAL_EPSILON),
    )  # fmt: skip


def pf_gpl_released() -> BeliefGPL:
    """PF-GPL with the distributions, losses, sizes and weights of the released code."""
    models = ParticleModels(
        spread_floor=0.0, spread_offset=0.0, types_in_states=True, score_function=True, bernoulli_visibility=True
    )
    belief = ParticleFilter(
        resampling=Systematic(), over_slots="mean", learned_spread=False, belief_weight=0.5, state_weight=0.5,
        existence_weight=5.0, sizes=ParticleSizes(encoding=70, state=100, type_size=100, width=100),
        weights=ParticleWeights(over_shared="mean"), models=models, entropy_weight=0.05, detached_state=True,
    )  # fmt: skip
    return BeliefGPL(
        belief=belief, agent_model_weight=0.5, pairwise=PerEdge(6), utility_width=70,
        agent_model=AgentModelSizes(100, 50, 50), control=QLearning(PARTIAL_EPSILON),
    )  # fmt: skip


def pf_gpl_5_released() -> AbstractLearner:
    """PF-GPL with five particles and all else as released."""
    return with_particles(pf_gpl_released(), 5)


def pf_gpl_1_released() -> AbstractLearner:
    """PF-GPL with a single particle and all else as released."""
    return with_particles(pf_gpl_released(), 1)


def with_particles(learner: BeliefGPL, particles: int) -> BeliefGPL:
    """The same PF-GPL with another number of particles."""
    return dataclasses.replace(learner, belief=dataclasses.replace(learner.belief, particles=particles))


BELIEF_PRESETS: dict[str, Callable[[], AbstractLearner]] = {
    "ae-gpl": ae_gpl,
    "vae-gpl": vae_gpl,
    "pf-gpl": pf_gpl,
    "pf-gpl-5": pf_gpl_5,
    "pf-gpl-1": pf_gpl_1,
    "ae-gpl-paper": ae_gpl_paper,
    "vae-gpl-paper": vae_gpl_paper,
    "pf-gpl-paper": pf_gpl_paper,
    "ae-gpl-released": ae_gpl_released,
    "vae-gpl-released": vae_gpl_released,
    "pf-gpl-released": pf_gpl_released,
    "pf-gpl-5-released": pf_gpl_5_released,
    "pf-gpl-1-released": pf_gpl_1_released,
}
