"""Algorithms by name: plain values, to be changed field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openteam.algorithms import GNN, GPL, QL, QLearning, SoftPolicyIteration
from openteam.algorithms.dgn import DGN
from openteam.algorithms.dvrl import DVRL
from openteam.algorithms.ippo import IPPO
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.particle_gpl import ParticleGPL
from openteam.algorithms.ppo import PPO
from openteam.algorithms.recurrent_gpl import RecurrentGPL
from openteam.core.learner import AbstractLearner


def gpl_q() -> AbstractLearner:
    """Graph-based Policy Learning with Q-learning: greedy, explores by chance."""
    return GPL(rule=QLearning())


def gpl_spi() -> AbstractLearner:
    """Graph-based Policy Learning with soft policy iteration: explores by a temperature that falls."""
    return GPL(rule=SoftPolicyIteration())


def ql() -> AbstractLearner:
    """Q-learning on everybody's type at a fixed place, for teams of limited size."""
    return QL()


def ql_am() -> AbstractLearner:
    """QL that is also told what its agent model expects each teammate to do."""
    return QL(agent_model=True)


def gnn() -> AbstractLearner:
    """Q-learning with attention among agents, for teams of any size."""
    return GNN()


def gnn_am() -> AbstractLearner:
    """GNN that is also told what its agent model expects each teammate to do."""
    return GNN(agent_model=True)


def ciao_s() -> AbstractLearner:
    """CIAO on a star: GPL-Q with positive utilities, of single agents and of pairs that include the learner."""
    return GPL(graph="star", individual_range="positive", pair_range="positive", regulariser=0.5)


def ciao_c() -> AbstractLearner:
    """CIAO on the complete graph: GPL-Q with positive utilities, of single agents and of all pairs."""
    return GPL(graph="complete", individual_range="positive", pair_range="positive", regulariser=0.5)


def ae_gpl() -> AbstractLearner:
    """GPL-Q on the memory of an autoencoder, for tasks of which the learner sees a part."""
    return RecurrentGPL()


def vae_gpl() -> AbstractLearner:
    """GPL-Q on samples of a variational autoencoder's memory, for tasks of which the learner sees a part."""
    return RecurrentGPL(samples=10, learned_spread=True)


def pf_gpl() -> AbstractLearner:
    """GPL-Q on ten particles that each guess what is hidden, for tasks of which the learner sees a part."""
    return ParticleGPL()


def pf_gpl_5() -> AbstractLearner:
    """PF-GPL with five particles."""
    return ParticleGPL(particles=5)


def pf_gpl_1() -> AbstractLearner:
    """PF-GPL with a single particle."""
    return ParticleGPL(particles=1)


ALL_ONE: dict[str, Any] = {"values_shape_belief": False, "max_grad_norm": None, "state_weight": 1.0}
RELEASED: dict[str, Any] = {
    "rank": 6, "pairwise": "edge", "utility_width": 70, "message_width": 100, "embedding": 50, "readout_width": 50,
}  # fmt: skip


def ae_gpl_paper() -> AbstractLearner:
    """AE-GPL with the losses of the paper's equations, all of one weight, and values that shape no belief."""
    return RecurrentGPL(observation_weight=1.0, existence_weight=0.0, exists="all", **ALL_ONE)


def vae_gpl_paper() -> AbstractLearner:
    """VAE-GPL with the losses of the paper's equations, all of one weight, and values that shape no belief."""
    return RecurrentGPL(
        samples=10, learned_spread=True, observation_weight=1.0, existence_weight=0.0, divergence_weight=1.0,
        exists="all", **ALL_ONE,
    )  # fmt: skip


def pf_gpl_paper() -> AbstractLearner:
    """PF-GPL with the losses of the paper's equations, all of one weight, and values that shape no belief."""
    return ParticleGPL(belief_weight=1.0, existence_weight=0.0, over_slots="sum", learned_spread=True, **ALL_ONE)


def ae_gpl_released() -> AbstractLearner:
    """AE-GPL with the sizes and weights of the released code."""
    return RecurrentGPL(
        exists="sampled", observation_weight=0.0, state_weight=0.001, existence_weight=0.02, agent_model_weight=0.005,
        hidden=200, representation=200, **RELEASED,
    )  # fmt: skip


def vae_gpl_released() -> AbstractLearner:
    """VAE-GPL with the sizes and weights of the released code."""
    return RecurrentGPL(
        samples=10, density="mean", exists="all", squares="mean", observation_weight=0.0, state_weight=0.001,
        existence_weight=0.001, divergence_weight=0.001, agent_model_weight=0.05, hidden=200, representation=200,
        **RELEASED,
    )  # fmt: skip


def pf_gpl_released() -> AbstractLearner:
    """PF-GPL with the sizes and weights of the released code."""
    return ParticleGPL(
        resampling="systematic", over_slots="mean", learned_spread=False, belief_weight=0.5, state_weight=0.5,
        existence_weight=5.0, agent_model_weight=0.5, sight=70, state=100, type_size=100, width=100, **RELEASED,
    )  # fmt: skip


def dgn() -> AbstractLearner:
    """Deep Graph Networks: attention among agents, trained in all slots at once, evaluated alone."""
    return DGN()


def maddpg() -> AbstractLearner:
    """Multi-agent DDPG: a central critic for a fixed number of places, trained in all slots at once."""
    return MADDPG()


def ppo() -> AbstractLearner:
    """Proximal policy optimisation of a single agent without memory, for teams of limited size."""
    return PPO()


def dvrl() -> AbstractLearner:
    """Deep Variational RL: a single agent that acts on the belief of a particle filter, for teams of limited size."""
    return DVRL()


def ippo() -> AbstractLearner:
    """Independent PPO: one policy trained in all slots at once; it makes the learned teammates."""
    return IPPO()


ALGORITHMS: dict[str, Callable[[], AbstractLearner]] = {
    "gpl-q": gpl_q,
    "gpl-spi": gpl_spi,
    "ql": ql,
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
    "ppo": ppo,
    "dvrl": dvrl,
    "ippo": ippo,
}
