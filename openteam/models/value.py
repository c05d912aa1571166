"""What every model of the learner's value has in common, whatever it is made of."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.models.places import Places
from openteam.models.types import TypeInference


class Team(eqx.Module):
    """What there is to know of a team at one step. No gradient leads from it to the agent model."""

    types: Float[Array, "*batch slots type"]
    visible: Bool[Array, "*batch slots"]
    probabilities: Float[Array, "*batch slots actions"] | None  # of what everybody does next; None without agent model
    place: Int[Array, "*batch slots"] | None  # None for a model that needs no fixed places


class AbstractValueModel(eqx.Module):
    """Type inference and the values that are built on it: the part that has a target network."""

    types: eqx.AbstractVar[TypeInference]

    @property
    @abstractmethod
    def places(self) -> Places | None:
        """The places of its input; None if it takes a team of any size."""

    @property
    @abstractmethod
    def scored(self) -> str:
        """What ``taken`` is called in the metrics."""

    @property
    @abstractmethod
    def never_negative(self) -> bool:
        """Whether a return below zero cannot be represented."""

    @abstractmethod
    def values(self, team: Team) -> Float[Array, "actions"]:
        """The learner's action values, on which it acts."""

    @abstractmethod
    def taken(self, team: Team, actions: Int[Array, "slots"]) -> tuple[Float[Array, ""], Float[Array, ""] | None]:
        """The value that learns from what was done, and whatever else its loss must keep small."""


def with_probabilities(team: Team) -> Float[Array, "slots feat"]:
    """[theta_j, p_j] for every agent; the learner, who is yet to choose, has zeros for p. Just theta without a p."""
    if team.probabilities is None:
        return team.types
    return jnp.concatenate([team.types, team.probabilities.at[0].set(0)], -1)


def own_value(values: Float[Array, "actions"], actions: Int[Array, "slots"]) -> Float[Array, ""]:
    """The value of what the learner, slot 0, did."""
    return (values * jax.nn.one_hot(actions[0], len(values))).sum()
