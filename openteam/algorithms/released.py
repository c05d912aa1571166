"""The paper's own conditions by world: sizes and schedules of its released code, and baselines of equal size.

There is no code of QL, QL-AM, GNN, GNN-AM, DGN and MADDPG. The first four learn as GPL does, with its type inference
and with a head of as many parameters as GPL's. ``docs/presets.md`` lists every setting with its source.
"""

from __future__ import annotations

from dataclasses import dataclass

from openteam.algorithms.control import AbstractControl, QLearning, Schedule, SoftPolicyIteration
from openteam.algorithms.dgn import DGN
from openteam.algorithms.flat_ql import FlatQL
from openteam.algorithms.gpl import GPL
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.task_kind import TaskKind
from openteam.core.learner import AbstractLearner
from openteam.core.sides import Sides
from openteam.models.agent import AgentModelSizes
from openteam.models.attention_head import AttentionHead
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.fixed_slot_head import FixedSlotHead
from openteam.models.joint_value import PerEdge
from openteam.models.value import AbstractHead


@dataclass(frozen=True)
class Sizes:
    """What differs between the worlds."""

    learning_rate: float
    exploring: float
    """Part of the run over which epsilon, or the temperature, falls."""
    encoder_width: int
    hidden: int
    type_size: int
    agent_model: AgentModelSizes
    utility_width: int
    rank: int
    slot_width: int
    """QL-AM's width, which gives its head as many parameters as GPL's."""
    flat_width: int
    """QL's, likewise."""
    head_size: int
    """Of GNN's and GNN-AM's attention, likewise, with ``node_width``; their read-out is as wide as GPL's utilities."""
    node_width: int
    joint_width: int
    """MADDPG's."""


GRID = Sizes(
    learning_rate=2.5e-4, exploring=0.75, encoder_width=100, hidden=100, type_size=70,
    agent_model=AgentModelSizes(30, 70, 20), utility_width=60, rank=5,
    slot_width=67, flat_width=140, head_size=5, node_width=40, joint_width=64,
)  # fmt: skip
FORTATTACK = Sizes(
    learning_rate=1e-4, exploring=0.5, encoder_width=64, hidden=128, type_size=128,
    agent_model=AgentModelSizes(40, 70, 128), utility_width=128, rank=6,
    slot_width=84, flat_width=287, head_size=10, node_width=80, joint_width=128,
)  # fmt: skip
PARTIAL_EPSILON = Schedule(1.0, 0.05, 0.7)
"""Exploration under partial observability, in all released methods."""


def sizes_for(kind: TaskKind) -> Sizes:
    """Those of the released code; foraging's for worlds that it does not have."""
    return FORTATTACK if kind.fortattack else GRID


def epsilon_for(kind: TaskKind) -> Schedule:
    """The released exploration."""
    return PARTIAL_EPSILON if kind.partial else Schedule(1.0, 0.05, sizes_for(kind).exploring)


def gpl_q_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """GPL-Q with the released code's sizes and schedule for the task's world, also under partial observability."""
    return released_gpl(kind, QLearning(epsilon_for(kind)))


def gpl_spi_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """GPL-SPI with the released code's sizes and schedule for the task's world."""
    return released_gpl(kind, SoftPolicyIteration(Schedule(1.0, 0.01, epsilon_for(kind).fraction)))


def released_gpl(kind: TaskKind, control: AbstractControl) -> GPL:
    """GPL; under partial observability with one type inference network for values and agent model."""
    if kind.partial:
        return GPL(
            control=control, head=CoordinationGraph(PerEdge(6), width=70), agent_model=AgentModelSizes(100, 50, 50),
            shared_types=True, hidden=200, type_size=200, agent_model_weight=0.05, max_grad_norm=10.0,
            forgets_unseen=True,
        )  # fmt: skip
    sizes = sizes_for(kind)
    head = CoordinationGraph(PerEdge(sizes.rank), width=sizes.utility_width)
    return with_head(kind, head, sizes.agent_model, control)


def ql_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """QL as it most likely was published: one LSTM over the flat vector, a head with GPL's number of parameters."""
    sizes = sizes_for(kind)
    return FlatQL(
        control=QLearning(epsilon_for(kind)), learning_rate=sizes.learning_rate, encoder_width=sizes.encoder_width,
        hidden=sizes.hidden, history_size=sizes.type_size, width=sizes.flat_width,
    )  # fmt: skip


def ql_am_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """QL-AM with GPL's sizes for the task's world and a head with GPL's number of parameters."""
    sizes = sizes_for(kind)
    return with_head(kind, FixedSlotHead(width=sizes.slot_width), sizes.agent_model)


def gnn_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """GNN with GPL's sizes for the task's world and a head with GPL's number of parameters."""
    return with_head(kind, attention_for(kind), None)


def gnn_am_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """GNN-AM with GPL's sizes for the task's world and a head with GPL's number of parameters."""
    return with_head(kind, attention_for(kind), sizes_for(kind).agent_model)


def with_head(
    kind: TaskKind, head: AbstractHead, agent_model: AgentModelSizes | None, control: AbstractControl | None = None
) -> GPL:
    """GPL's type inference and schedule with another head."""
    sizes = sizes_for(kind)
    return GPL(
        control=control or QLearning(epsilon_for(kind)), head=head, agent_model=agent_model,
        learning_rate=sizes.learning_rate, encoder_width=sizes.encoder_width, hidden=sizes.hidden,
        type_size=sizes.type_size,
    )  # fmt: skip


def attention_for(kind: TaskKind) -> AttentionHead:
    """GNN's head."""
    sizes = sizes_for(kind)
    return AttentionHead(head_size=sizes.head_size, node_width=sizes.node_width, width=sizes.utility_width)


def dgn_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """DGN with GPL's exploration; in FortAttack guards alone are trained, who see attackers but not each other."""
    return DGN(epsilon=epsilon_for(kind), sides=sides_for(kind))


def maddpg_released(kind: TaskKind = TaskKind()) -> AbstractLearner:
    """MADDPG with networks of their own for all agents; in FortAttack guards alone are trained, as with DGN."""
    return MADDPG(separate=kind.slots, width=sizes_for(kind).joint_width, sides=sides_for(kind))


def sides_for(kind: TaskKind) -> Sides:
    """Whom the released environments for joint training train: all agents, or the guards."""
    return Sides(2, see_own=False) if kind.fortattack else Sides()
