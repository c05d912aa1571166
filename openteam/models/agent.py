"""The agent model: teammates' action probabilities (paper, section "Agent Modelling")."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.core.types import Observation
from openteam.models.graph import Graph
from openteam.models.layers import MLP, Linear, relu_sum
from openteam.models.lstm import Memory
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
    graph: Graph = eqx.field(static=True)

    def __init__(
        self,
        key: Key[Array, ""],
        type_size: int,
        actions: int,
        *,
        width: int,
        embedding: int,
        readout_width: int,
        graph: Graph = "complete",
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
        weight = exists.astype(types.dtype)
        node = self.node.layers[0]
        wide = jnp.concatenate([*self.edge_in.weights, node.weights[0]], 1)  # one product: narrow ones are slow
        sent, received, kept = jnp.split(types @ wide, 3, -1)
        edges = sent, received + self.edge_in.bias
        if self.graph == "complete":
            summed, senders = relu_sum(*edges, weight), weight.sum() - weight
        else:
            summed, senders = star_relu_sum(*edges, weight)
        messages = summed @ self.edge_out.weights[0] + senders[:, None] * self.edge_out.bias
        return self.readout(self.node.rest(kept + messages @ node.weights[1] + node.bias))


def star_relu_sum(
    sender: Float[Array, "slots width"], receiver: Float[Array, "slots width"], weight: Float[Array, "slots"]
) -> tuple[Float[Array, "slots width"], Float[Array, "slots"]]:
    """Sums of weight_k relu(sender_k + receiver_j) where the learner hears all teammates and they only hear it.

    Also how many each of them hears.
    """
    others = weight.at[0].set(0)
    from_learner = weight[0] * jax.nn.relu(sender[0] + receiver)
    to_learner = others @ jax.nn.relu(sender + receiver[0])
    return from_learner.at[0].set(to_learner), jnp.full_like(weight, weight[0]).at[0].set(others.sum())


class AgentModel(eqx.Module):
    """alpha_q, zeta, eta.

    With type inference of its own its loss and that of values do not interfere. Without, it reads the value model's
    types, and both losses shape them.
    """

    types: TypeInference | None
    actions: RelationalForwardModel

    def start(self, slots: int) -> Memory | None:
        return None if self.types is None else self.types.start(slots)

    def step(
        self,
        memory: Memory | None,
        value_types: Float[Array, "slots type"],
        obs: Observation,
        fresh: Bool[Array, "slots"],
    ) -> tuple[Float[Array, "slots actions"], Memory | None]:
        """Logits of everybody's next action after one more observation, of which the value model made these types."""
        if self.types is None:
            return self.actions(value_types, obs.visible), None
        assert memory is not None
        types, memory = self.types.step(memory, obs, fresh)
        return self.actions(types, obs.visible), memory


def action_log_likelihood(
    logits: Float[Array, "slots actions"], actions: Array, counts: Bool[Array, "slots"]
) -> Float[Array, "slots"]:
    """log q(a_j | s) of the teammates that count, 0 for the others and for the learner itself."""
    log_probability = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probability, actions[:, None], 1)[:, 0]
    return chosen * counts.at[0].set(False)
