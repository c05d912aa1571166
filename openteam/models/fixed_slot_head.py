"""The learner's own action values from everybody's type at a fixed slot: the head of QL and QL-AM."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float, Key

from openteam.core.learner import Metrics
from openteam.core.types import Spec
from openteam.errors import check_positive
from openteam.models.fixed_slots import ABSENT, FixedSlots, fixed_size
from openteam.models.graph import CompleteGraph
from openteam.models.layers import MLP
from openteam.models.value import AbstractHead, AbstractValueNetwork, OwnValues, Team, node_size, with_probabilities


class FixedSlotHead(AbstractHead):
    """A plain network, so teams have a largest size (paper, "Evaluated Algorithms")."""

    max_agents: int | None = eqx.field(static=True, default=None)
    """The most agents there can ever be; by default the largest team of the task and its splits."""
    shuffle_slots: bool = eqx.field(static=True, default=True)
    """Newcomers get a random free slot; if not, the first, and a small team never trains the last slots."""
    width: int = eqx.field(static=True, default=60)
    """Width of both hidden layers."""

    def __check_init__(self) -> None:
        check_positive(self, "width", "max_agents")

    @property
    def graph(self) -> CompleteGraph:
        return CompleteGraph()

    def build(self, key: Key[Array, ""], type_size: int, spec: Spec, *, predictions: bool) -> FixedSlotNetwork:
        slots = FixedSlots(fixed_size("FixedSlotHead", self.max_agents, spec), self.shuffle_slots)
        inputs = slots.count * node_size(type_size, spec, predictions)
        return FixedSlotNetwork(MLP(key, inputs, self.width, self.width, spec.actions), slots)


class FixedSlotNetwork(AbstractValueNetwork):
    """Q(H, .) = MLP([theta_j, p_j] at the slots of all agents j), with a placeholder where nobody is."""

    network: MLP
    fixed: FixedSlots

    @property
    def slots(self) -> FixedSlots:
        return self.fixed

    def __call__(self, team: Team) -> OwnValues:
        assert not isinstance(team.entry, tuple)
        rows = self.fixed.arrange(with_probabilities(team), team.entry, team.visible, ABSENT)
        return OwnValues(self.network(rows.reshape(-1)))

    def metrics(self, predicted: Float[Array, "*batch"], target: Float[Array, "*batch"]) -> Metrics:
        del target
        return {"action_value": predicted.mean()}
