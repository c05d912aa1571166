"""Q-learning by attention among agents: GNN and GNN-AM (paper, "Evaluated Algorithms")."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Key

from openteam.algorithms.value_learning import AbstractValueLearner
from openteam.core.types import Spec
from openteam.errors import check_positive
from openteam.models.graph import Graph
from openteam.models.graph_value import GraphValue
from openteam.models.types import TypeInference


class GNN(AbstractValueLearner):
    """The learner's own action value from a graph neural network, for a team of any size."""

    agent_model: bool = eqx.field(static=True, default=False)
    """Append what each teammate is expected to do to its type: GNN-AM."""
    rounds: int = eqx.field(static=True, default=2)
    """Layers of attention."""
    heads: int = eqx.field(static=True, default=8)
    """Attention heads of each."""
    head_size: int = eqx.field(static=True, default=16)
    """Length of a head's queries, keys and values."""
    node_width: int = eqx.field(static=True, default=128)
    """Length of an agent's vector after each layer."""

    def __check_init__(self) -> None:
        check_positive(self, "rounds", "heads", "head_size", "node_width")

    @property
    def agent_graph(self) -> Graph | None:
        return "complete" if self.agent_model else None

    def value_model(self, key: Key[Array, ""], types: TypeInference, spec: Spec) -> GraphValue:
        node_size = self.type_size + spec.actions * self.agent_model
        return GraphValue(
            key, types, node_size, spec.actions, width=self.utility_width, rounds=self.rounds, heads=self.heads,
            head_size=self.head_size, node_width=self.node_width,
        )  # fmt: skip
