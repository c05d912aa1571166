"""Value heads: from the types of a team to the values that the learner acts on and learns.

GPL, QL and GNN differ here and nowhere else (paper, table "Comparison between algorithms"). A head is a setting that
builds a network; the network turns a team into values.
"""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.checked import AbstractChecked
from openteam.core.learner import Metrics
from openteam.core.types import Spec
from openteam.models.fixed_slots import AnySlots, FixedSlots
from openteam.models.graph import AbstractGraph
from openteam.models.types import TypeInference
from openteam.models.utilities import AbstractUtilities


class Team(eqx.Module):
    """What values are computed from. No gradient leads from it to the agent model."""

    types: Float[Array, "*batch slots type"]
    visible: Bool[Array, "*batch slots"]
    probabilities: Float[Array, "*batch slots actions"] | None  # of everybody's next action; None without agent model
    entry: Int[Array, "*batch slots"] | tuple[()]  # everybody's fixed slot; () for a network that needs none


class AbstractValues(eqx.Module):
    """The values of one state."""

    @property
    @abstractmethod
    def utilities(self) -> AbstractUtilities | None:
        """Utilities of agents and pairs, if that is what values are made of."""

    @abstractmethod
    def action_values(self) -> Float[Array, "actions"]:
        """Of each of the learner's own actions: what it acts on, Qbar(H, .)."""

    @abstractmethod
    def of(self, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        """Of what was done: what is learned. Networks differ in whether teammates' actions are part of it."""

    @abstractmethod
    def penalty(self, actions: Int[Array, "slots"]) -> Float[Array, ""] | None:
        """A further loss, if there is one."""


class OwnValues(AbstractValues):
    """Q(H, a_i): teammates' actions are part of the environment."""

    values: Float[Array, "actions"]

    @property
    def utilities(self) -> None:
        return None

    def action_values(self) -> Float[Array, "actions"]:
        return self.values

    def of(self, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        return (self.values * jax.nn.one_hot(actions[0], len(self.values))).sum()

    def penalty(self, actions: Int[Array, "slots"]) -> None:
        del actions


class AbstractValueNetwork(eqx.Module):
    """What a head builds."""

    @property
    @abstractmethod
    def slots(self) -> FixedSlots | AnySlots:
        """Where it expects each agent."""

    @abstractmethod
    def __call__(self, team: Team) -> AbstractValues:
        """The values of one state."""

    @abstractmethod
    def metrics(self, predicted: Float[Array, "*batch"], target: Float[Array, "*batch"]) -> Metrics:
        """What runs log about predicted values and what they should have been."""


class AbstractHead(AbstractChecked):
    """Settings of a value network."""

    @property
    @abstractmethod
    def graph(self) -> AbstractGraph:
        """Who exchanges messages in the agent model that belongs to it."""

    @abstractmethod
    def build(self, key: Key[Array, ""], type_size: int, spec: Spec, *, predictions: bool) -> AbstractValueNetwork:
        """A network with new parameters; ``predictions`` says whether an agent model predicts teammates' actions."""


class ValueModel(eqx.Module):
    """Type inference and the values built on it: the part of a model that has a target network."""

    types: TypeInference
    head: AbstractValueNetwork


def with_probabilities(team: Team) -> Float[Array, "slots feat"]:
    """[theta_j, p_j] for every agent j. The learner has yet to choose: its p is 0. Without an agent model, theta_j."""
    if team.probabilities is None:
        return team.types
    return jnp.concatenate([team.types, team.probabilities.at[0].set(0)], -1)


def node_size(type_size: int, spec: Spec, predictions: bool) -> int:
    """The length of a row of ``with_probabilities``."""
    return type_size + spec.actions * predictions
