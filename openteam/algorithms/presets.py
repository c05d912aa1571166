"""Algorithms by name: plain values, to be changed field by field. A few depend on the task that they are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import jax

from openteam.algorithms import GPL, QLearning, SoftPolicyIteration
from openteam.algorithms.belief_presets import BELIEF_PRESETS
from openteam.algorithms.control import Schedule
from openteam.algorithms.dgn import DGN
from openteam.algorithms.dvrl import DVRL
from openteam.algorithms.flat_ql import FlatQL
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.ppo import PPO
from openteam.algorithms.released import (
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
from openteam.models.attention_head import AttentionHead
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
    **BELIEF_PRESETS,
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
