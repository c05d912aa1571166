"""Action values from all types at once, each at its fixed place (paper, "Evaluated Algorithms": QL and QL-AM)."""

from __future__ import annotations

from typing import ClassVar

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
    places: Places
    scored: ClassVar[str] = "action_value"
    never_negative: ClassVar[bool] = False

    def __init__(
        self, key: Key[Array, ""], types: TypeInference, node_size: int, actions: int, *, width: int, places: int
    ):
        self.types, self.places = types, Places(places)
        self.network = MLP(key, places * node_size, width, width, actions)

    def values(self, team: Team) -> Float[Array, "actions"]:
        assert team.place is not None
        seated = self.places.arrange(with_probabilities(team), team.place, team.visible, ABSENT)
        return self.network(seated.reshape(-1))

    def taken(self, team: Team, actions: Int[Array, "slots"]) -> tuple[Float[Array, ""], None]:
        return own_value(self.values(team), actions), None
