"""The agent model: teammates' action probabilities (paper, section "Agent Modelling")."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.core.checked import AbstractChecked
from openteam.core.types import Observation
from openteam.errors import check_positive
from openteam.models.graph import AbstractGraph, CompleteGraph
from openteam.models.layers import MLP, Linear, trained
from openteam.models.lstm import LSTMState
from openteam.models.types import TypeInference


class RelationalForwardModel(eqx.Module):
    """q(a_j | s) = softmax(MLP_eta(n_j)), n = GNN_zeta(theta): one round of messages along the edges of the graph.

    Edge k -> j: MLP(theta_k, theta_j); node j: MLP(theta_j, sum of its incoming edges). The edge MLP's second layer is
    linear, so the sum is taken before it: no ``[slots, slots, width]`` product is ever formed.
    """

    edge_in: Linear
    edge_out: Linear
    node: MLP
    readout: MLP
    graph: AbstractGraph

    def __init__(
        self,
        key: Key[Array, ""],
        type_size: int,
        actions: int,
        *,
        width: int,
        embedding: int,
        readout_width: int,
        graph: AbstractGraph = CompleteGraph(),
    ):
        k_edge, k_out, k_node, k_read = jax.random.split(key, 4)
        self.edge_in = Linear(k_edge, (type_size, type_size), width)
        self.edge_out = Linear(k_out, width, embedding)
        self.node = MLP(k_node, (type_size, embedding), width, embedding)
        self.readout = MLP(k_read, embedding, readout_width, actions)
        self.graph = graph

    def __call__(
        self, types: Float[Array, "slots type"], exists: Bool[Array, "slots"] | Float[Array, "slots"]
    ) -> Float[Array, "slots actions"]:
        """Logits of every agent's next action. Rows of absent agents mean nothing and reach no other row."""
        node = self.node.layers[0]
        wide = jnp.concatenate([*self.edge_in.weights, node.weights[0]], 1)  # one product: narrow ones are slow
        sent, received, kept = jnp.split(types @ trained(wide), 3, -1)
        summed, senders = self.graph.relu_sum(sent, received + self.edge_in.bias, exists)
        messages = summed @ trained(self.edge_out.weights[0]) + senders[:, None] * self.edge_out.bias
        return self.readout(self.node.rest(kept + messages @ trained(node.weights[1]) + node.bias))


class AgentModelSizes(AbstractChecked):
    """Sizes of a relational forward model. Defaults are those behind the paper's foraging results."""

    width: int = eqx.field(static=True, default=30)
    """Width of the edge and node networks' hidden layers."""
    embedding: int = eqx.field(static=True, default=70)
    """Length of messages and node embeddings."""
    readout_width: int = eqx.field(static=True, default=20)
    """Width of the read-out's hidden layer."""

    def __check_init__(self) -> None:
        check_positive(self, "width", "embedding", "readout_width")

    def build(
        self, key: Key[Array, ""], type_size: int, actions: int, graph: AbstractGraph = CompleteGraph()
    ) -> RelationalForwardModel:
        """A model of these sizes with new parameters."""
        return RelationalForwardModel(
            key, type_size, actions, width=self.width, embedding=self.embedding, readout_width=self.readout_width,
            graph=graph,
        )  # fmt: skip


class AgentModel(eqx.Module):
    """alpha_q, zeta, eta.

    With type inference of its own its loss and that of values do not interfere. Without, it reads the value model's
    types, and both losses shape them.
    """

    types: TypeInference | None
    actions: RelationalForwardModel

    def start(self, slots: int) -> LSTMState | None:
        return None if self.types is None else self.types.start(slots)

    def step(
        self,
        state: LSTMState | None,
        value_types: Float[Array, "slots type"],
        obs: Observation,
        fresh: Bool[Array, "slots"],
    ) -> tuple[Float[Array, "slots actions"], LSTMState | None]:
        """Logits of everybody's next action after one more observation; ``value_types`` are the value model's."""
        if self.types is None:
            return self.actions(value_types, obs.visible), None
        assert state is not None
        types, state = self.types.step(state, obs, fresh)
        return self.actions(types, obs.visible), state


def action_log_likelihood(
    logits: Float[Array, "slots actions"], actions: Array, counts: Bool[Array, "slots"]
) -> Float[Array, "slots"]:
    """log q(a_j | s) of the teammates that count, 0 for the others and for the learner itself."""
    log_probability = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probability, actions[:, None], 1)[:, 0]
    return chosen * counts.at[0].set(False)
