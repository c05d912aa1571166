"""Action values by attention among agents (paper, "Evaluated Algorithms": GNN and GNN-AM)."""

from __future__ import annotations

import jax
from jaxtyping import Array, Float, Int, Key

from openteam.models.attention import RelationLayer
from openteam.models.layers import MLP
from openteam.models.types import TypeInference
from openteam.models.value import AbstractValueModel, Team, own_value, with_probabilities


class GraphValue(AbstractValueModel):
    """Q(H, .) = MLP(n_i^0, ..., n_i^L): the learner's node before and after L rounds, n_j^0 = [theta_j, p_j]."""

    types: TypeInference
    layers: tuple[RelationLayer, ...]
    readout: MLP

    def __init__(
        self,
        key: Key[Array, ""],
        types: TypeInference,
        node_size: int,
        actions: int,
        *,
        width: int,
        rounds: int,
        heads: int,
        head_size: int,
        node_width: int,
    ):
        k_readout, *keys = jax.random.split(key, rounds + 1)
        sizes = (node_size, *[node_width] * rounds)
        self.types = types
        self.layers = tuple(
            RelationLayer(k, size, node_width, heads=heads, head_size=head_size)
            for k, size in zip(keys, sizes[:-1], strict=True)
        )
        self.readout = MLP(k_readout, sizes, width, width, actions)

    @property
    def places(self) -> None:
        return None

    @property
    def scored(self) -> str:
        return "action_value"

    @property
    def never_negative(self) -> bool:
        return False

    def values(self, team: Team) -> Float[Array, "actions"]:
        nodes = [with_probabilities(team)]
        for layer in self.layers:
            after, _ = layer(nodes[-1], team.visible)
            nodes.append(after)
        return self.readout(*(node[0] for node in nodes))

    def taken(self, team: Team, actions: Int[Array, "slots"]) -> tuple[Float[Array, ""], None]:
        return own_value(self.values(team), actions), None
