"""Q-learning on the types of all agents at fixed places: QL and QL-AM (paper, "Evaluated Algorithms")."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Key

from openteam.algorithms.value_learning import AbstractValueLearner
from openteam.core.types import Spec
from openteam.models.graph import Graph
from openteam.models.placed_value import PlacedValue
from openteam.models.places import Places, check_places, count_places
from openteam.models.types import TypeInference


class QL(AbstractValueLearner):
    """The learner's own action value from a plain network; without a graph, for a team of limited size."""

    agent_model: bool = eqx.field(static=True, default=False)
    """Append what each teammate is expected to do to its type: QL-AM."""
    places: int | None = eqx.field(static=True, default=None)
    """The most agents there can ever be; by default as many as the task's largest split has."""
    shuffled_places: bool = eqx.field(static=True, default=True)
    """Newcomers sit down at a random free place; if not, at the first, and no small team trains the last places."""

    def __check_init__(self) -> None:
        check_places(self)

    @property
    def agent_graph(self) -> Graph | None:
        return "complete" if self.agent_model else None

    def value_model(self, key: Key[Array, ""], types: TypeInference, spec: Spec) -> PlacedValue:
        node_size = self.type_size + spec.actions * self.agent_model
        places = Places(count_places(self, spec), self.shuffled_places)
        return PlacedValue(key, types, node_size, spec.actions, width=self.utility_width, places=places)
