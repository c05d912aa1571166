"""Which agents are joined by an edge, and what follows for sums over edges."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from openteam.models.layers import relu_sum


class AbstractGraph(eqx.Module):
    """The edges of a team of any size. Slot 0 is the learner."""

    @abstractmethod
    def relu_sum(
        self,
        sender: Float[Array, "slots width"],
        receiver: Float[Array, "slots width"],
        weight: Bool[Array, "slots"] | Float[Array, "slots"],
    ) -> tuple[Float[Array, "slots width"], Float[Array, "slots"]]:
        """For every agent j, sums over its neighbours k of weight_k relu(sender_k + receiver_j), and of weight_k."""

    @abstractmethod
    def regulariser(self, utilities: Float[Array, "slots"], exists: Bool[Array, "slots"]) -> Float[Array, ""]:
        """CIAO's loss on the singular utilities Q_j(a_j) of one joint action (Wang et al., 2024)."""


class CompleteGraph(AbstractGraph):
    """An edge between every two agents."""

    def relu_sum(
        self,
        sender: Float[Array, "slots width"],
        receiver: Float[Array, "slots width"],
        weight: Bool[Array, "slots"] | Float[Array, "slots"],
    ) -> tuple[Float[Array, "slots width"], Float[Array, "slots"]]:
        each = weight.astype(sender.dtype)
        return relu_sum(sender, receiver, weight), each.sum() - each

    def regulariser(self, utilities: Float[Array, "slots"], exists: Bool[Array, "slots"]) -> Float[Array, ""]:
        """Mean over agents of (Q_j(a_j) - Q_i(a_i))^2: each teammate's utility is drawn to the learner's."""
        return jnp.mean((utilities - jax.lax.stop_gradient(utilities[0])) ** 2, where=exists)


class StarGraph(AbstractGraph):
    """Edges between the learner and each teammate only."""

    def relu_sum(
        self,
        sender: Float[Array, "slots width"],
        receiver: Float[Array, "slots width"],
        weight: Bool[Array, "slots"] | Float[Array, "slots"],
    ) -> tuple[Float[Array, "slots width"], Float[Array, "slots"]]:
        weight = weight.astype(sender.dtype)
        others = weight.at[0].set(0)
        from_learner = weight[0] * jax.nn.relu(sender[0] + receiver)
        to_learner = others @ jax.nn.relu(sender + receiver[0])
        return from_learner.at[0].set(to_learner), jnp.full_like(weight, weight[0]).at[0].set(others.sum())

    def regulariser(self, utilities: Float[Array, "slots"], exists: Bool[Array, "slots"]) -> Float[Array, ""]:
        """(Q_i(a_i) - sum_j Q_j(a_j))^2: the learner's utility is drawn to the sum of its teammates'."""
        teammates = utilities @ exists.at[0].set(False).astype(utilities.dtype)
        return (utilities[0] - jax.lax.stop_gradient(teammates)) ** 2
