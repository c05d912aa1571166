"""What the probes pay, and Q* of a learner who plays them perfectly.

Below, g is the discount, n the steps to go, and G(n) = 1 + g + ... + g^(n-1) the worth of 1 in each of them. Nothing
anybody does changes what can be had later, so Q* is the reward expected now plus g times the best of what follows.
A teammate always does the same, 0 or 1, each as likely: a fair coin until it has been seen once, certain from then on.
"""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from openteam.probes.state import ProbeState


class AbstractPayoff(eqx.Module):
    """A reward, and what the best play is worth under it."""

    @abstractmethod
    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        """What everybody gets for this joint action."""

    @abstractmethod
    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        """Q* of the learner's two actions, for a discount below 1."""


class Constant(AbstractPayoff):
    """1, whatever anybody does: Q* = G(n); in one step, 1. Finds a learner that cannot regress to a number."""

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del state, actions
        return jnp.ones(())

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.full(2, annuity(discount, state.left))


class Lamp(AbstractPayoff):
    """1 while the lamp is on: Q* = lamp G(n); in one step, 0 or 1. Finds a learner that does not look."""

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

    Of two steps, Q* = (1 + g) / 2 in the first, 0 or 1 in the second. The joint value knows better: it is (1 + g) times
    the teammate's action already in the first. Finds a learner that confuses the two, or does not model teammates.
    """

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del state
        return actions[1].astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return jnp.full(2, teammate_probabilities(state)[1] * annuity(discount, state.left))


class Match(AbstractPayoff):
    """1 if both do the same: Q*(a) = P(teammate does a) + g G(n-1), as from the second step on it is known.

    Of three steps, Q* = 1/2 + g + g^2 in the first for both actions; then 1 + g for the teammate's action and g for the
    other; then 1 and 0. Finds a learner that does not tell types apart, or does not marginalise with what it knows.
    """

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        del state
        return (actions[0] == actions[1]).astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return teammate_probabilities(state) + discount * annuity(discount, state.left - 1)


class Company(AbstractPayoff):
    """1 for action 1 in company, for action 0 alone: Q*(right) = G(n), Q*(wrong) = g G(n-1).

    It does not matter to Q* when the teammate joins, only to what is right. Finds a learner blind to the team's size.
    """

    def reward(self, state: ProbeState, actions: Int[Array, "slots"]) -> Float[Array, ""]:
        return (actions[0] == state.present[1]).astype(jnp.float32)

    def values(self, state: ProbeState, discount: float) -> Float[Array, "actions"]:
        return (jnp.arange(2) == state.present[1]) + discount * annuity(discount, state.left - 1)


def annuity(discount: float, steps: Int[Array, ""]) -> Float[Array, ""]:
    """G(n) = 1 + g + ... + g^(n-1) = (1 - g^n) / (1 - g)."""
    return (1 - jnp.power(discount, steps)) / (1 - discount)


def teammate_probabilities(state: ProbeState) -> Float[Array, "actions"]:
    """What the teammate in slot 1 will do, as far as its last action tells."""
    return jnp.where(state.last[1] < 0, 0.5, jnp.arange(2) == state.last[1])
