"""Penalized Cooperative Navigation as a world."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.layout import Entry, Layout
from openteam.core.world import AbstractWorld, Marker
from openteam.errors import UserError
from openteam.worlds.navigation.draw import markers, to_rgb, to_text
from openteam.worlds.navigation.rules import arrivals, outcome
from openteam.worlds.navigation.start import draw_destinations, row_major
from openteam.worlds.navigation.state import ACTION_NAMES, DESTINATIONS, HIDDEN, NavigationState
from openteam.worlds.placing import place_agents
from openteam.worlds.walking import aim, inside, settle


class Navigation(AbstractWorld[NavigationState]):
    """Two destinations must be covered at the same time; an agent that waits on one alone pays for it."""

    size: int = eqx.field(static=True, default=12)
    """Rows and columns of the square grid."""
    apart: int = eqx.field(static=True, default=2)
    """Rows or columns of the two destinations differ by at least this much. 2 is the released code's; they are often
    far apart, as the paper says, and with larger numbers always."""
    penalty: float = eqx.field(static=True, default=0.2)
    """What every step on a destination costs while the other one is not covered."""
    count_agents: bool = eqx.field(static=True, default=False)
    """The released code's rule: exactly two agents stand on destinations, even on the same one."""
    most: int = eqx.field(static=True, default=DESTINATIONS)
    """Places for destinations. With 2, both are redrawn after a success. With more, as in the released code, only those
    that agents stand on are cleared and two are added, so two agents on one destination leave three. Agents see the
    first two in row-major order. Needs ``count_agents``."""

    def __check_init__(self) -> None:
        if self.most < DESTINATIONS or (self.most > DESTINATIONS and not self.count_agents):
            raise UserError(
                f"There are {DESTINATIONS} destinations, or places for more if count_agents is True; got most "
                f"{self.most} and count_agents {self.count_agents}."
            )
        if self.size < 1 or self.apart < 1 or self.penalty < 0:
            raise UserError(
                f"Cooperative Navigation needs size >= 1, apart >= 1 and penalty >= 0; got size {self.size}, "
                f"apart {self.apart}, penalty {self.penalty}."
            )

    @property
    def actions(self) -> int:
        return len(ACTION_NAMES)

    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> NavigationState:
        slots = len(present)
        uniform = jax.random.uniform(key, (slots + DESTINATIONS,))
        nowhere, nothing = jnp.zeros((slots, 2), jnp.int32), jnp.zeros((0, 2), jnp.int32)
        position = place_agents(uniform[:slots], nowhere, present, present, nothing, jnp.zeros(0, bool), self.size)
        none = jnp.full((0, 2), HIDDEN)
        destination = draw_destinations(uniform[slots:], position, present, none, self.size, self.apart)
        return NavigationState(present, position, row_major(destination, self.most, self.size))

    def step(
        self, key: Key[Array, ""], state: NavigationState, actions: Int[Array, "slots"]
    ) -> tuple[NavigationState, Float[Array, "slots"], Bool[Array, ""]]:
        position = settle(state.position, aim(state.position, actions, self.size), state.present)
        moved = NavigationState(state.present, position, state.destination)
        reward, reached = outcome(moved, self.penalty, self.count_agents)
        uniform = jax.random.uniform(key, (DESTINATIONS,))
        covered = arrivals(moved).any(0)
        left = jnp.where(covered[:, None], HIDDEN, state.destination)
        kept = left if self.most > DESTINATIONS else left[:0]
        fresh = draw_destinations(uniform, position, state.present, kept, self.size, self.apart)
        fresh = row_major(jnp.concatenate([kept, fresh]), self.most, self.size)
        destination = jnp.where(reached, fresh, state.destination)
        return NavigationState(state.present, position, destination), reward, jnp.zeros((), bool)

    def dismiss(self, state: NavigationState, leaving: Bool[Array, "slots"]) -> NavigationState:
        return NavigationState(state.present & ~leaving, state.position, state.destination)

    def admit(self, key: Key[Array, ""], state: NavigationState, joining: Bool[Array, "slots"]) -> NavigationState:
        uniform, there = jax.random.uniform(key, (len(joining),)), state.destination[:, 0] != HIDDEN
        position = place_agents(uniform, state.position, state.present, joining, state.destination, there, self.size)
        return NavigationState(state.present | joining, position, state.destination)

    def legal(self, state: NavigationState) -> Bool[Array, "slots actions"]:
        return inside(state.position, self.size)

    def features(self, state: NavigationState) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        """x = row, column; u = the same of two destinations, in row-major order, then placeholders.

        Absent agents and hidden destinations are (-1, -1). Numbers are raw integers: scaling them delays learning.
        """
        agents = jnp.where(state.present[:, None], state.position, -1)
        # A visible destination comes first: otherwise its index would reveal on which side the hidden one is.
        shown = row_major(state.destination, DESTINATIONS, self.size)
        return agents.astype(jnp.float32), shown.ravel().astype(jnp.float32)

    def layout(self, slots: int) -> Layout:
        del slots
        edge = self.size - 1
        destinations = tuple(
            Entry(f"{axis} of destination {number}", 0, edge, -1, "cells")
            for number in range(1, DESTINATIONS + 1)
            for axis in ("row", "column")
        )
        agent = Entry("row", 0, edge, -1, "cells"), Entry("column", 0, edge, -1, "cells")
        return Layout(agent, destinations, ACTION_NAMES, "Destinations in sight come first, in row-major order.")

    def positions(self, state: NavigationState) -> tuple[Int[Array, "slots 2"], Int[Array, "objects 2"]]:
        return state.position, state.destination

    def relocate(
        self, state: NavigationState, agents: Int[Array, "slots 2"], objects: Int[Array, "objects 2"]
    ) -> NavigationState:
        there = state.destination[:, :1] != HIDDEN
        return NavigationState(state.present, agents, jnp.where(there, objects, HIDDEN))

    def hide(
        self, state: NavigationState, agents: Bool[Array, "slots"], objects: Bool[Array, "objects"]
    ) -> NavigationState:
        destination = jnp.where(objects[:, None], HIDDEN, state.destination)
        return NavigationState(state.present & ~agents, state.position, destination)

    def locate(self, agents: Float[Array, "*batch feat"]) -> Float[Array, "*batch 2"]:
        return agents[..., :2]

    def rgb(self, state: NavigationState) -> np.ndarray:
        return to_rgb(state, self.size)

    def markers(self, state: NavigationState) -> list[Marker]:
        return markers(state, self.size)

    def text(self, state: NavigationState) -> str:
        return to_text(state, self.size)

    def check(self, slots: int) -> None:
        # Wherever agents stand and the other destinations are, some inner cell must be left for the last.
        inner = max(self.size - 2, 0)
        if inner**2 - (self.most - 1) * min(inner, 2 * self.apart - 1) ** 2 <= slots:
            raise UserError(
                f"On a {self.size}x{self.size} grid {self.most} destinations {self.apart} apart may find no room "
                f"beside {slots} agents. Raise the world's size, or lower the cap or the world's apart."
            )
