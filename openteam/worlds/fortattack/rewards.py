"""Rewards as functions of what happened in a step."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from openteam.core.checked import AbstractChecked


class Events(eqx.Module):
    """What happened in a step: all that rewards depend on."""

    shot: Bool[Array, "slots"]  # fired
    scored: Bool[Array, "slots"]  # hit at least one opponent
    hit: Bool[Array, "slots"]  # was hit
    before: Float[Array, "slots"]  # distance to the door
    after: Float[Array, "slots"]
    arrived: Bool[Array, "slots"]  # attackers that reached the fort
    over: Bool[Array, ""]  # time is up
    held: Bool[Array, ""]  # time is up and nobody reached it
    cleared: Bool[Array, ""]  # the last attacker in the arena was hit


class AbstractRewards(AbstractChecked):
    """A reward function."""

    @abstractmethod
    def __call__(self, events: Events, guard: Bool[np.ndarray, "slots"]) -> Float[Array, "slots"]:
        """Everybody's reward, absent agents included: the world sets theirs to 0."""


class SparseRewards(AbstractRewards):
    """Rewards for the outcome, hits and shots. The outcome has the opposite sign for attackers; all terms add up."""

    outcome: float = eqx.field(static=True, default=1.0)
    """To guards when the fort is held to the end; minus this when an attacker reaches it (released: 10)."""
    hit: float = eqx.field(static=True, default=0.3)
    """To one who hits, once a step; minus this to one who is hit (released: 3)."""
    shot: float = eqx.field(static=True, default=0.0)
    """Cost of shooting, hit or miss (released: 0.1)."""
    paid_at_the_end: bool = eqx.field(static=True, default=False)
    """Pay for holding the fort whenever time is up, even if an attacker reaches it in that very step, so that both
    outcomes cancel out (released: True)."""

    def __call__(self, events: Events, guard: Bool[np.ndarray, "slots"]) -> Float[Array, "slots"]:
        held = events.over if self.paid_at_the_end else events.held
        outcome = self.outcome * (held.astype(jnp.float32) - events.arrived.any())
        return jnp.where(guard, outcome, -outcome) + exchange(events, self.hit, self.shot)


class DenseRewards(AbstractRewards):
    """The shaped rewards that the released code's teammates were trained with."""

    outcome: float = eqx.field(static=True, default=10.0)
    """To an attacker that reaches the fort, minus this to guards; the reverse when all attackers are out."""
    hit: float = eqx.field(static=True, default=3.0)
    """To one who hits, once a step; minus this to one who is hit."""
    guard_shot: float = eqx.field(static=True, default=0.1)
    """Cost of a guard's shot."""
    attacker_shot: float = eqx.field(static=True, default=1.0)
    """Cost of an attacker's shot."""
    progress: float = eqx.field(static=True, default=2.0)
    """To an attacker per unit of distance that it came nearer to the door."""
    post: float = eqx.field(static=True, default=1.0)
    """To a guard that comes close to the door; minus this when it leaves."""
    post_radius: float = eqx.field(static=True, default=0.3)
    """The distance to the door that counts as close."""
    siege: float = eqx.field(static=True, default=0.0)
    """What attackers lose when time is up. 0 in the released code, where attackers may learn to stay away."""

    def __call__(self, events: Events, guard: Bool[np.ndarray, "slots"]) -> Float[Array, "slots"]:
        was, stands = events.before <= self.post_radius, events.after <= self.post_radius
        to_guard = self.post * (stands.astype(jnp.float32) - was) - self.outcome * events.arrived.any()
        to_attacker = self.progress * (events.before - events.after) + self.outcome * events.arrived
        to_attacker = to_attacker - self.siege * events.held
        cleared = self.outcome * events.cleared
        cost = np.where(guard, self.guard_shot, self.attacker_shot).astype(np.float32)
        return jnp.where(guard, to_guard + cleared, to_attacker - cleared) + exchange(events, self.hit, cost)


def exchange(events: Events, hit: float, shot: float | np.ndarray) -> Float[Array, "slots"]:
    """The rewards for hitting, being hit and shooting."""
    return hit * (events.scored.astype(jnp.float32) - events.hit) - shot * events.shot
