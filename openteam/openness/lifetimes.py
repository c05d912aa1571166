"""The paper's open process: a lifetime, a wait, a queue in random order."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.openness import AbstractOpenness
from openteam.core.order import rank_among
from openteam.core.world import AbstractWorldState
from openteam.errors import UserError


class Timers(eqx.Module):
    """One entry per potential teammate: steps until its next event, and its slot (0 while it is away)."""

    left: Int[Array, "members"]
    slot: Int[Array, "members"]
    cap: Int[Array, ""]


class Lifetimes(AbstractOpenness):
    """A teammate stays for its lifetime, is away for its wait, then queues until there is a free slot.

    Leaving comes before entering, so a slot freed in a step can be taken in the same step. Who enters is drawn
    uniformly from the queue.
    """

    cap: int = eqx.field(static=True, default=3)
    """The largest team at any time, learner included."""
    start_low: int = eqx.field(static=True, default=3)
    """The smallest team at the start of an episode."""
    start_high: int = eqx.field(static=True, default=3)
    """The largest team at the start of an episode; its size is uniform between the two."""
    cap_is_start: bool = eqx.field(static=True, default=False)
    """Use the number drawn at the start as that episode's cap (the released code's other mode)."""
    teammates: int = eqx.field(static=True, default=4)
    """Teammates that exist, present or away; at least cap - 1."""
    lifetime: tuple[int, int] = eqx.field(static=True, default=(15, 25))
    """Steps a teammate stays, uniform, both ends included."""
    wait: tuple[int, int] = eqx.field(static=True, default=(10, 20))
    """Steps a teammate is away before it queues."""
    grace: int = eqx.field(static=True, default=0)
    """Steps added to the times that are drawn when an episode starts."""
    min_teammates: int = eqx.field(static=True, default=0)
    """Nobody leaves, lifetime over or not, while there are no more teammates than this."""

    def __check_init__(self) -> None:
        if self.cap < 2:
            raise UserError(f"An open team needs a cap of at least 2, the learner and a teammate; got {self.cap}.")
        if not 1 <= self.start_low <= self.start_high <= self.cap:
            raise UserError(
                f"An episode must start with 1 to cap = {self.cap} agents; got start_low {self.start_low} and "
                f"start_high {self.start_high}."
            )
        if self.teammates < self.cap - 1:
            raise UserError(
                f"A cap of {self.cap} needs at least {self.cap - 1} potential teammates; got {self.teammates}."
            )
        for name, (low, high) in {"lifetime": self.lifetime, "wait": self.wait}.items():
            if not 1 <= low <= high:
                raise UserError(f"A {name} is a range of steps, 1 <= low <= high; got {low} to {high}.")
        if self.grace < 0 or not 0 <= self.min_teammates < self.cap:
            raise UserError(
                f"grace must be at least 0 and min_teammates between 0 and cap - 1; got {self.grace} and "
                f"{self.min_teammates}."
            )

    @property
    def slots(self) -> int:
        return self.cap

    def start(self, key: Key[Array, ""]) -> tuple[Timers, Bool[Array, "slots"]]:
        u = jax.random.uniform(key, (1 + self.teammates,))
        start = draw_between(u[0], self.start_low, self.start_high)
        index = 1 + jnp.arange(self.teammates)
        slot = jnp.where(index < start, index, 0)
        left = jnp.where(slot > 0, draw_between(u[1:], *self.lifetime), draw_between(u[1:], *self.wait))
        cap = start if self.cap_is_start else jnp.asarray(self.cap, jnp.int32)
        return Timers(left + self.grace, slot, cap), jnp.arange(self.cap) < start

    def step(
        self, key: Key[Array, ""], state: Timers, world: AbstractWorldState
    ) -> tuple[Timers, Bool[Array, "slots"], Bool[Array, "slots"]]:
        del world
        u_order, u_life, u_wait = jax.random.uniform(key, (3, self.teammates))
        left = state.left - 1
        here = state.slot > 0
        leaves = rank_among(u_order, here & (left <= 0)) < here.sum() - self.min_teammates
        slot = jnp.where(leaves, 0, state.slot)
        left = jnp.where(leaves, draw_between(u_wait, *self.wait), left)
        room = state.cap - 1 - (slot > 0).sum()
        queue = rank_among(u_order, ~here & (left <= 0))
        enters = queue < room
        slot = jnp.where(enters, nth_free_slot(slot, queue, self.cap), slot)
        left = jnp.where(enters, draw_between(u_life, *self.lifetime), left)
        slots = jnp.arange(self.cap)
        leaving = ((state.slot == slots[:, None]) & leaves).any(1)
        joining = ((slot == slots[:, None]) & enters).any(1)
        return Timers(left, slot, state.cap), leaving, joining


def draw_between(uniform: Float[Array, "*n"], low: int, high: int) -> Int[Array, "*n"]:
    """Integers uniform over low .. high."""
    return jnp.minimum(low + jnp.floor(uniform * (high - low + 1)).astype(jnp.int32), high)


def nth_free_slot(slot: Int[Array, "members"], n: Int[Array, "members"], cap: int) -> Int[Array, "members"]:
    """The n-th free slot, from 0. The learner's is never free."""
    slots = jnp.arange(cap)
    free = ~(slot[None, :] == slots[:, None]).any(1) & (slots > 0)
    rank = jnp.where(free, jnp.cumsum(free) - 1, -1)
    return ((rank[None, :] == n[:, None]) * slots).sum(1).astype(jnp.int32)
