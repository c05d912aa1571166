"""The rewards of the probes, and their optimal action values Q*.

Below, g is the discount, n the number of steps left, and G(n) = 1 + g + ... + g^(n-1) the return of 1 in each of them.
Actions do not change later rewards, so Q* is the expected reward now plus g times the best value of what follows.
A teammate always takes the same action, 0 or 1 with probability 1/2 each: unknown until it has been seen once.
"""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from openteam.probes.state import ProbeState


class AbstractPayoff(eqx.Module):
    """A reward function and its optimal action values."""

    @abstractmethod
    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        """The reward of every agent for this joint action."""

    @abstractmethod
    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        """Q* of the learner's two actions, for a discount below 1."""


class Constant(AbstractPayoff):
    """Always 1: Q* = G(n); in one step, 1. Finds a learner that cannot regress to a constant."""

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del state, actions
        return jnp.ones(())

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.full(2, annuity(discount, state.left))


class Lamp(AbstractPayoff):
    """1 while the lamp is on: Q* = lamp G(n); in one step, 0 or 1. Finds a learner that ignores observations."""

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del actions
        return state.lamp.astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.full(2, state.lamp * annuity(discount, state.left))


class Delayed(AbstractPayoff):
    """1 in the last step only: Q* = g^(n-1). Finds a learner that does not bootstrap, or discounts wrongly."""

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del actions
        return (state.left == 1).astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.full(2, discount ** (state.left - 1.0))


class OwnAction(AbstractPayoff):
    """The learner's action, 0 or 1: Q*(a) = a + g G(n-1). Finds a learner that cannot choose."""

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del state
        return actions[0].astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.arange(2) + discount * annuity(discount, state.left - 1)


class TeammateAction(AbstractPayoff):
    """The teammate's action: Q* = G(n) / 2 before it was seen, then its action times G(n).

    Of two steps, Q* = (1 + g) / 2 in the first, 0 or 1 in the second. The joint action value is (1 + g) times the
    teammate's action already in the first. Finds a learner that confuses the two, or does not model teammates.
    """

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del state
        return actions[1].astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.full(2, teammate_probabilities(state)[1] * annuity(discount, state.left))


class Match(AbstractPayoff):
    """1 if both take the same action: Q*(a) = P(teammate takes a) + g G(n-1), for it is known from the second step on.

    Of three steps, Q* = 1/2 + g + g^2 in the first for both actions; then 1 + g for the teammate's action and g for the
    other; then 1 and 0. Finds a learner that does not infer types, or does not marginalise with them.
    """

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del state
        return (actions[0] == actions[1]).astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return teammate_probabilities(state) + discount * annuity(discount, state.left - 1)


class TeammateJoins(AbstractPayoff):
    """1 for action 1 with a teammate, for action 0 alone: Q*(right) = G(n), Q*(wrong) = g G(n-1).

    When the teammate joins does not change Q*, only which action is right. Finds a learner blind to the team's size.
    """

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        return (actions[0] == state.present[1]).astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return (jnp.arange(2) == state.present[1]) + discount * annuity(discount, state.left - 1)


def annuity(discount: float, steps: Int[Array, ""]) -> Float[Array, ""]:
    """G(n) = 1 + g + ... + g^(n-1) = (1 - g^n) / (1 - g)."""
    return (1 - jnp.power(discount, steps)) / (1 - discount)


def teammate_probabilities(state: ProbeState) -> Float[Array, "actions"]:
    """The action probabilities of the teammate in slot 1, given its last action."""
    return jnp.where(state.last[1] < 0, 0.5, jnp.arange(2) == state.last[1])
