"""Action values from all types at once, each at its fixed place (paper, "Evaluated Algorithms": QL and QL-AM)."""

from __future__ import annotations

from jaxtyping import Array, Float, Int, Key

from openteam.models.layers import MLP
from openteam.models.places import Places
from openteam.models.types import TypeInference
from openteam.models.value import AbstractValueModel, Team, own_value, with_probabilities

ABSENT = -1.0


class PlacedValue(AbstractValueModel):
    """Q(H, .) = MLP([theta_j, p_j] at the places of all agents j), with a placeholder where nobody is."""

    types: TypeInference
    network: MLP
    table: Places

    def __init__(
        self, key: Key[Array, ""], types: TypeInference, node_size: int, actions: int, *, width: int, places: Places
    ):
        self.types, self.table = types, places
        self.network = MLP(key, places.count * node_size, width, width, actions)

    @property
    def places(self) -> Places:
        return self.table

    @property
    def scored(self) -> str:
        return "action_value"

    @property
    def never_negative(self) -> bool:
        return False

    def values(self, team: Team) -> Float[Array, "actions"]:
        assert team.place is not None
        seated = self.table.arrange(with_probabilities(team), team.place, team.visible, ABSENT)
        return self.network(seated.reshape(-1))

    def taken(self, team: Team, actions: Int[Array, "slots"]) -> tuple[Float[Array, ""], None]:
        return own_value(self.values(team), actions), None
