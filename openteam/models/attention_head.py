"""The learner's own action values by attention among agents: the head of GNN and GNN-AM."""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from openteam.core.learner import Metrics
from openteam.core.types import Spec
from openteam.errors import check_positive
from openteam.models.attention import RelationLayer
from openteam.models.fixed_slots import AnySlots
from openteam.models.graph import CompleteGraph
from openteam.models.layers import MLP
from openteam.models.value import AbstractHead, AbstractValueNetwork, OwnValues, Team, node_size, with_probabilities


class AttentionHead(AbstractHead):
    """A graph neural network, for teams of any size (paper, "Evaluated Algorithms")."""

    rounds: int = eqx.field(static=True, default=2)
    """Layers of attention."""
    heads: int = eqx.field(static=True, default=8)
    """Attention heads of each."""
    head_size: int = eqx.field(static=True, default=16)
    """Length of a head's queries, keys and values."""
    node_width: int = eqx.field(static=True, default=128)
    """Length of an agent's vector after each layer."""
    width: int = eqx.field(static=True, default=60)
    """Width of both hidden layers of the read-out."""
    last_only: bool = eqx.field(static=True, default=False)
    """Read the learner's node after the last layer only. Else also before the first and after each, as DGN does."""

    def __check_init__(self) -> None:
        check_positive(self, "rounds", "heads", "head_size", "node_width", "width")

    @property
    def graph(self) -> CompleteGraph:
        return CompleteGraph()

    def build(self, key: Key[Array, ""], type_size: int, spec: Spec, *, predictions: bool) -> AttentionNetwork:
        k_readout, *keys = jax.random.split(key, self.rounds + 1)
        sizes = (node_size(type_size, spec, predictions), *[self.node_width] * self.rounds)
        layers = tuple(
            RelationLayer(k, size, self.node_width, heads=self.heads, head_size=self.head_size)
            for k, size in zip(keys, sizes[:-1], strict=True)
        )
        read = sizes[-1:] if self.last_only else sizes
        return AttentionNetwork(layers, MLP(k_readout, read, self.width, self.width, spec.actions), self.last_only)


class AttentionNetwork(AbstractValueNetwork):
    """Q(H, .) = MLP(n_i^0, ..., n_i^L): the learner's node before and after L rounds, n_j^0 = [theta_j, p_j].

    With ``last_only``, Q(H, .) = MLP(n_i^L).
    """

    layers: tuple[RelationLayer, ...]
    readout: MLP
    last_only: bool = eqx.field(static=True, default=False)

    @property
    def slots(self) -> AnySlots:
        return AnySlots()

    def __call__(self, team: Team) -> OwnValues:
        nodes = [with_probabilities(team)]
        for layer in self.layers:
            after, _ = layer(nodes[-1], team.visible)
            nodes.append(after)
        read = nodes[-1:] if self.last_only else nodes
        return OwnValues(self.readout(*(node[0] for node in read)))

    def metrics(self, predicted: Float[Array, "*batch"], target: Float[Array, "*batch"]) -> Metrics:
        del target
        return {"action_value": predicted.mean()}
