"""The authors' graph network of Wolfpack: two graph blocks with long short-term memories between them.

Its memory is kept in the order of a list of agents, edges by source, then by target. When agents arrive, the released
code appends zeros to the list of edges, though the edges of the larger team are in another order: so old edges get each
other's memories. That is done here, too (``carry``): it changes about one decision in two hundred.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.models.layers import MLP
from openteam.teammates.authors.graph import GraphBlock, linked
from openteam.teammates.authors.layers import Recurrent, mlp
from openteam.teammates.authors.store import State

WIDTH = 50


class LSTMMemory(eqx.Module):
    """Hidden state and cell."""

    hidden: Float[Array, "*rows width"]
    cell: Float[Array, "*rows width"]


class GraphMemory(eqx.Module):
    """Of every pair of places in the list, of every place, and of the team."""

    edges: LSTMMemory
    nodes: LSTMMemory
    shared: LSTMMemory

    @property
    def capacity(self) -> int:
        return self.nodes.hidden.shape[0]


class GraphDQN(eqx.Module):
    """Values of every agent's actions, with a memory."""

    first: GraphBlock
    edge: Recurrent
    node: Recurrent
    shared: Recurrent
    second: GraphBlock
    head: MLP

    @classmethod
    def of(cls, state: State) -> GraphDQN:
        """The network with these numbers."""
        return cls(
            first=GraphBlock.of(state, "GNBlock", None, 2, 12),
            edge=Recurrent.of(state, "GraphLSTM.lstm_edge"),
            node=Recurrent.of(state, "GraphLSTM.lstm_node"),
            shared=Recurrent.of(state, "GraphLSTM.lstm_u"),
            second=GraphBlock.of(state, "GNBlock2", WIDTH, WIDTH, WIDTH),
            head=mlp(state, ("pre_q_net", "q_net"), 30),
        )

    def start(self, places: int) -> GraphMemory:
        """Nothing remembered."""
        shapes = (places, places), (places,), ()
        return GraphMemory(*(LSTMMemory(jnp.zeros((*shape, WIDTH)), jnp.zeros((*shape, WIDTH))) for shape in shapes))

    def step(
        self,
        memory: GraphMemory,
        cells: Float[Array, "n 2"],
        shared: Float[Array, "shared"],
        there: Bool[Array, "n"],
    ) -> tuple[Float[Array, "n actions"], GraphMemory]:
        """Values and the next memory; edges are indexed by source and target."""
        edges, nodes, u = self.first(cells, shared, there)
        n = len(cells)

        def to_pairs(rows: Float[Array, "... feat"]) -> Float[Array, "n n feat"]:
            return jnp.broadcast_to(rows, (n, n, rows.shape[-1]))

        ends = to_pairs(nodes[:, None]), to_pairs(nodes[None, :]), to_pairs(u)
        edge = remember(self.edge, memory.edges, jnp.concatenate([edges, *ends], -1), linked(there))
        said = jax.nn.relu(edge.hidden)
        to_nodes = jnp.broadcast_to(u, (n, len(u)))
        node = remember(self.node, memory.nodes, jnp.concatenate([nodes, said.sum(0), to_nodes], -1), there)
        known = jax.nn.relu(node.hidden)
        sums = jnp.concatenate([known.sum(0), said.sum((0, 1)), u])
        team = remember(self.shared, memory.shared, sums, jnp.ones((), bool))
        _, nodes, _ = self.second(known, jax.nn.relu(team.hidden), there, said)
        return self.head(nodes), GraphMemory(edge, node, team)


def remember(
    lstm: Recurrent, memory: LSTMMemory, x: Float[Array, "*rows in"], there: Bool[Array, "*rows"]
) -> LSTMMemory:
    """The memory after an input; zeros for who is not there."""
    hidden, cell = lstm.step(memory.hidden, memory.cell, lstm.read(x))
    return LSTMMemory(jnp.where(there[..., None], hidden, 0), jnp.where(there[..., None], cell, 0))


def carry(memory: GraphMemory, kept: Bool[Array, "places"], agents: Int[Array, ""]) -> GraphMemory:
    """The memory of a list from which some were taken and to which others, up to ``agents``, were appended.

    Nodes keep theirs. Edges are numbered through, before and after, by source and then by target; an edge gets the
    memory of the kept edge with its number, which is its own only if nobody was appended.
    """
    places = jnp.arange(len(kept))
    old, stayed = jnp.argsort(~kept), kept.sum()  # where the k-th of those who stay was
    source, target = places[:, None], places[None, :]
    number = source * (agents - 1) + target - (target > source)
    width = jnp.maximum(stayed - 1, 1)
    from_source = jnp.minimum(number // width, len(kept) - 1)
    from_target = number % width
    from_target = from_target + (from_target >= from_source)
    had_edge = linked(places < agents) & (number < stayed * (stayed - 1))
    had_node = places < stayed

    def edges(leaf: Float[Array, "places places width"]) -> Float[Array, "places places width"]:
        return jnp.where(had_edge[..., None], leaf[old[from_source], old[jnp.minimum(from_target, len(old) - 1)]], 0)

    def nodes(leaf: Float[Array, "places width"]) -> Float[Array, "places width"]:
        return jnp.where(had_node[:, None], leaf[old], 0)

    return GraphMemory(jax.tree.map(edges, memory.edges), jax.tree.map(nodes, memory.nodes), memory.shared)
