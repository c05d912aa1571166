"""The agent model: teammates' action probabilities (paper, section "Agent Modelling")."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.models.layers import MLP, Linear, relu_sum


class RelationalForwardModel(eqx.Module):
    """q(a_j | s) = softmax(MLP_eta(n_j)), n = GNN_zeta(theta): one round of messages on the complete graph.

    Edge k -> j: MLP(theta_k, theta_j); node j: MLP(theta_j, sum of its incoming edges). The edge MLP's second layer is
    linear, so the sum is taken before it: no ``[slots, slots, width]`` product is ever formed.
    """

    edge_in: Linear
    edge_out: Linear
    node: MLP
    readout: MLP

    def __init__(
        self, key: Key[Array, ""], type_size: int, actions: int, *, width: int, embedding: int, readout_width: int
    ):
        k_edge, k_out, k_node, k_read = jax.random.split(key, 4)
        self.edge_in = Linear(k_edge, (type_size, type_size), width)
        self.edge_out = Linear(k_out, width, embedding)
        self.node = MLP(k_node, (type_size, embedding), width, embedding)
        self.readout = MLP(k_read, embedding, readout_width, actions)

    def __call__(
        self, types: Float[Array, "slots type"], exists: Bool[Array, "slots"]
    ) -> Float[Array, "slots actions"]:
        """Logits of every agent's next action. Rows of absent agents mean nothing and reach no other row."""
        weight = exists.astype(types.dtype)
        w_sender, w_receiver = self.edge_in.weights
        summed = relu_sum(types @ w_sender, types @ w_receiver + self.edge_in.bias, weight)
        others = (weight.sum() - weight)[:, None]
        messages = summed @ self.edge_out.weights[0] + others * self.edge_out.bias
        return self.readout(self.node(types, messages))


def action_log_likelihood(
    logits: Float[Array, "slots actions"], actions: Array, counts: Bool[Array, "slots"]
) -> Float[Array, "slots"]:
    """log q(a_j | s) of the teammates that count, 0 for the others and for the learner itself."""
    log_probability = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probability, actions[:, None], 1)[:, 0]
    return chosen * counts.at[0].set(False)
