"""Algorithms by name: plain values, to be changed field by field. A few depend on the task that they are for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol, TypeVar

import jax

from openteam.algorithms import GPL, QLearning, SoftPolicyIteration
from openteam.algorithms.belief_gpl import BeliefGPL
from openteam.algorithms.beliefs import Autoencoder, ParticleFilter, VariationalAutoencoder
from openteam.algorithms.control import Schedule
from openteam.algorithms.dgn import DGN
from openteam.algorithms.dvrl import DVRL
from openteam.algorithms.flat_ql import FlatQL
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.ppo import PPO
from openteam.algorithms.released import (
    PARTIAL_EPSILON,
    dgn_released,
    gnn_am_released,
    gnn_released,
    gpl_q_released,
    gpl_spi_released,
    maddpg_released,
    ql_am_released,
    ql_released,
)
from openteam.algorithms.task_kind import TaskKind
from openteam.core.learner import AbstractLearner
from openteam.models.actor_critic import SetNetworks
from openteam.models.agent import AgentModelSizes
from openteam.models.attention_head import AttentionHead
from openteam.models.belief.existence import AssumedExistence, SampledExistence
from openteam.models.belief.latent_models import ParticleModels
from openteam.models.belief.particle_belief import ParticleSizes
from openteam.models.belief.particle_weight import ParticleWeights
from openteam.models.belief.recurrent import AutoencoderSizes
from openteam.models.belief.resampling import Systematic
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.fixed_slot_head import FixedSlotHead
from openteam.models.joint_value import Factored, PerEdge, Signed, Star

LARGEST_EDGE_TEAM = 10
"""Tasks with larger teams get one factor per agent instead of one per pair."""
Settings = TypeVar("Settings")


class TaskPreset(Protocol):
    """An algorithm that depends on the kind of task it is for."""

    def __call__(self, kind: TaskKind = TaskKind()) -> AbstractLearner: ...


def gpl_q() -> AbstractLearner:
    """Graph-based Policy Learning with Q-learning: greedy, explores by chance."""
    return GPL(control=QLearning(), forgets_unseen=True)


def gpl_q_remembers() -> AbstractLearner:
    """GPL-Q that keeps its memory of teammates out of sight, which the paper's loses."""
    return GPL(control=QLearning())


def gpl_spi() -> AbstractLearner:
    """Graph-based Policy Learning with soft policy iteration: explores by a temperature that falls."""
    return GPL(control=SoftPolicyIteration(), forgets_unseen=True)


def gpl_q_factored() -> AbstractLearner:
    """GPL-Q with the main text's pairwise utilities, a factor per agent: for teams of more than ten."""
    return GPL(control=QLearning(), head=CoordinationGraph(Factored()), forgets_unseen=True)


def ql() -> AbstractLearner:
    """Q-learning on everybody's type at a fixed slot, for teams of limited size."""
    return GPL(head=FixedSlotHead(), agent_model=None)


def ql_am() -> AbstractLearner:
    """QL that also reads what an agent model expects each teammate to do."""
    return GPL(head=FixedSlotHead())


def ql_flat() -> AbstractLearner:
    """Q-learning with one LSTM over the flat vector of all agents, as the published QL most likely was."""
    return FlatQL()


def gnn() -> AbstractLearner:
    """Q-learning with attention among agents, for teams of any size."""
    return GPL(head=AttentionHead(), agent_model=None)


def gnn_am() -> AbstractLearner:
    """GNN that also reads what an agent model expects each teammate to do."""
    return GPL(head=AttentionHead())


def ciao_s() -> AbstractLearner:
    """CIAO on a star: GPL-Q with positive utilities, of single agents and of pairs that include the learner."""
    return GPL(head=CoordinationGraph(Signed(Star()), regulariser=0.5))


def ciao_c() -> AbstractLearner:
    """CIAO on the complete graph: GPL-Q with positive utilities, of single agents and of all pairs."""
    return GPL(head=CoordinationGraph(Signed(), regulariser=0.5))


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


def dgn() -> AbstractLearner:
    """Deep Graph Networks: attention among agents, trained in all slots at once, evaluated alone."""
    return DGN()


def maddpg() -> AbstractLearner:
    """Multi-agent DDPG: a central critic, for teams of limited size, trained in all slots at once."""
    return MADDPG()


def maddpg_separate(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """MADDPG with an actor and a critic of its own for every agent that is trained, as Lowe et al. have it."""
    return MADDPG(separate=kind.slots)


def ppo() -> AbstractLearner:
    """Proximal policy optimisation of a single agent without memory, for teams of limited size."""
    return PPO()


def ppo_large_batches() -> AbstractLearner:
    """PPO with minibatches of 512 decisions instead of the paper's 64, and so fewer and steadier steps."""
    return PPO(minibatches=64)


def dvrl() -> AbstractLearner:
    """Deep Variational RL: a single agent that acts on the belief of a particle filter, for teams of limited size."""
    return DVRL()


def ippo() -> PPO:
    """Independent PPO: one policy trained in all slots at once; it makes the learned teammates."""
    return PPO(
        network=SetNetworks(), all_slots=True, envs=64, update_every=32, epochs=4, minibatches=4,
        normalise_minibatches=False, learning_rate=Schedule(1e-3, 1e-5, 1.0), entropy=Schedule(0.02, 0.002, 1.0),
        mask_illegal=True,
    )  # fmt: skip


BY_TASK: dict[str, TaskPreset] = {
    "gpl-q-released": gpl_q_released,
    "gpl-spi-released": gpl_spi_released,
    "ql-released": ql_released,
    "ql-am-released": ql_am_released,
    "gnn-released": gnn_released,
    "gnn-am-released": gnn_am_released,
    "dgn-released": dgn_released,
    "maddpg-separate": maddpg_separate,
    "maddpg-released": maddpg_released,
}
"""Those that depend on the world, or on the number of agents in training."""

ALGORITHMS: dict[str, Callable[[], AbstractLearner]] = {
    "gpl-q": gpl_q,
    "gpl-q-remembers": gpl_q_remembers,
    "gpl-spi": gpl_spi,
    "gpl-q-factored": gpl_q_factored,
    "ql": ql,
    "ql-flat": ql_flat,
    "ql-am": ql_am,
    "gnn": gnn,
    "gnn-am": gnn_am,
    "dgn": dgn,
    "maddpg": maddpg,
    "ciao-s": ciao_s,
    "ciao-c": ciao_c,
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
    **BY_TASK,
    "ppo": ppo,
    "ppo-large-batches": ppo_large_batches,
    "dvrl": dvrl,
    "ippo": ippo,
}
"""All of them, without a task: for teams of up to five on a grid."""


def preset(name: str, kind: TaskKind = TaskKind()) -> AbstractLearner:
    """The algorithm of that name, as it is for such tasks."""
    learner = BY_TASK[name](kind) if name in BY_TASK else ALGORITHMS[name]()
    return learner if kind.max_agents <= LARGEST_EDGE_TEAM else with_agent_factors(learner)


def with_agent_factors(settings: Settings) -> Settings:
    """The same settings with ``Factored`` for every ``PerEdge``: linear in the team instead of quadratic."""

    def is_per_edge(part: object) -> bool:
        return isinstance(part, PerEdge)

    return jax.tree.map(lambda part: Factored() if is_per_edge(part) else part, settings, is_leaf=is_per_edge)


def variant_of(name: str) -> str:
    """The algorithm that one of the released ones is, but for numbers; others are variants of themselves."""
    special = {"ql-released": "ql-flat", "maddpg-released": "maddpg-separate"}
    plain = special.get(name, name.removesuffix("-released"))
    return plain if plain in ALGORITHMS else name
