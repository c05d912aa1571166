"""Graph blocks on the complete directed graph of a team, without self-loops."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from openteam.models.layers import MLP
from openteam.teammates.authors.layers import mlp
from openteam.teammates.authors.store import State


class GraphBlock(eqx.Module):
    """New edges from edges, their ends and u; new nodes from nodes, new edges to them and u; a new u from the sums."""

    edge: MLP
    node: MLP
    shared: MLP

    @classmethod
    def of(cls, state: State, name: str, edge: int | None, node: int, shared: int) -> GraphBlock:
        """The block of that name, with inputs of these sizes; the first of a network has no edges to read."""
        made = len(state[f"{name}.fc_edge2.bias"])
        ends = (node, node, shared)

        def network(part: str, *sizes: int) -> MLP:
            return mlp(state, (f"{name}.fc_{part}", f"{name}.fc_{part}2"), *sizes)

        return cls(
            edge=network("edge", *ends) if edge is None else network("edge", edge, *ends),
            node=network("node", node, made, shared),
            shared=network("u", made, made, shared),
        )

    def __call__(
        self,
        nodes: Float[Array, "n feat"],
        shared: Float[Array, "shared"],
        there: Bool[Array, "n"],
        edges: Float[Array, "n n edge"] | None = None,
    ) -> tuple[Float[Array, "n n out"], Float[Array, "n out"], Float[Array, "out"]]:
        """Edges, indexed by source and target, nodes and u; zeros for those who are not there."""
        ends = nodes[:, None], nodes[None, :], shared
        edges = self.edge(*ends) if edges is None else self.edge(edges, *ends)
        edges = jnp.where(linked(there)[..., None], edges, 0)
        nodes = jnp.where(there[:, None], self.node(nodes, edges.sum(0), shared), 0)
        return edges, nodes, self.shared(nodes.sum(0), edges.sum((0, 1)), shared)


def linked(there: Bool[Array, "n"]) -> Bool[Array, "n n"]:
    """The pairs of different agents who are there."""
    return there[:, None] & there[None, :] & ~jnp.eye(len(there), dtype=bool)
