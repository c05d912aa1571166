"""Algorithms by name: plain values, to be changed field by field."""

from __future__ import annotations

from collections.abc import Callable

from openteam.algorithms import GNN, GPL, QL, QLearning, SoftPolicyIteration
from openteam.algorithms.dgn import DGN
from openteam.algorithms.ippo import IPPO
from openteam.algorithms.maddpg import MADDPG
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


def dgn() -> AbstractLearner:
    """Deep Graph Networks: attention among agents, trained in all slots at once, evaluated alone."""
    return DGN()


def maddpg() -> AbstractLearner:
    """Multi-agent DDPG: a central critic for a fixed number of places, trained in all slots at once."""
    return MADDPG()


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
    "ippo": ippo,
}
