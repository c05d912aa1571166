"""Level-Based Foraging as a world."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.layout import Entry, Layout
from openteam.core.world import AbstractWorld, Marker
from openteam.errors import UserError
from openteam.worlds.lbf.draw import markers, to_rgb, to_text
from openteam.worlds.lbf.rules import effective, transition
from openteam.worlds.lbf.start import draw_level, start_state
from openteam.worlds.lbf.state import ACTION_NAMES, ForagingState
from openteam.worlds.placing import place_agents


class Foraging(AbstractWorld[ForagingState]):
    """Agents and foods have levels; agents beside a food take it if their levels add up to its own."""

    size: int = eqx.field(static=True, default=8)
    """Rows and columns of the square grid."""
    foods: int = eqx.field(static=True, default=3)
    """Foods at the start of an episode; they never come back. One that finds no room is left out."""
    max_level: int = eqx.field(static=True, default=2)
    """The levels of agents are uniform over 1 to this."""

    def __check_init__(self) -> None:
        if self.size < 3 or self.foods < 1 or self.max_level < 1:
            raise UserError(
                f"Level-Based Foraging needs size >= 3, foods >= 1 and max_level >= 1; got size {self.size}, "
                f"foods {self.foods}, max_level {self.max_level}."
            )

    @property
    def actions(self) -> int:
        return len(ACTION_NAMES)

    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> ForagingState:
        return start_state(key, present, self.size, self.foods, self.max_level)

    def step(
        self, key: Key[Array, ""], state: ForagingState, actions: Int[Array, "slots"]
    ) -> tuple[ForagingState, Float[Array, "slots"], Bool[Array, ""]]:
        del key  # nothing is random here
        state, reward = transition(state, actions, self.size)
        return state, reward, (state.food_level == 0).all()

    def dismiss(self, state: ForagingState, leaving: Bool[Array, "slots"]) -> ForagingState:
        return eqx.tree_at(lambda s: s.present, state, state.present & ~leaving)

    def admit(self, key: Key[Array, ""], state: ForagingState, joining: Bool[Array, "slots"]) -> ForagingState:
        u_cell, u_level = jax.random.uniform(key, (2, len(joining)))
        left = state.food_level > 0
        position = place_agents(u_cell, state.position, state.present, joining, state.food_position, left, self.size)
        level = jnp.where(joining, draw_level(u_level, self.max_level), state.level)
        return ForagingState(state.present | joining, position, level, state.food_position, state.food_level)

    def legal(self, state: ForagingState) -> Bool[Array, "slots actions"]:
        return effective(state, self.size)

    def features(self, state: ForagingState) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        """x = row, column, level; u = the same of every food that is left, in row-major order, then placeholders.

        Absent agents and eaten foods are (-1, -1, 0). Numbers are raw integers: scaling them delays learning.
        """
        absent = jnp.array([-1, -1, 0])
        agents = jnp.concatenate([state.position, state.level[:, None]], 1)
        foods = jnp.concatenate([state.food_position, state.food_level[:, None]], 1)
        left = state.food_level > 0
        rank = jnp.where(left, jnp.cumsum(left) - 1, self.foods)
        chosen = rank[None, :] == jnp.arange(self.foods)[:, None]
        compact = jnp.where(chosen.any(1)[:, None], chosen.astype(jnp.int32) @ foods, absent)
        agents = jnp.where(state.present[:, None], agents, absent)
        return agents.astype(jnp.float32), compact.ravel().astype(jnp.float32)

    def layout(self, slots: int) -> Layout:
        edge, heaviest = self.size - 1, max(slots * self.max_level - 1, 1)
        cell = Entry("row", 0, edge, -1, "cells"), Entry("column", 0, edge, -1, "cells")
        agent = *cell, Entry("level", 1, self.max_level, 0)
        objects = tuple(
            entry
            for number in range(1, self.foods + 1)
            for entry in (
                Entry(f"row of object {number}", 0, edge, -1, "cells"),
                Entry(f"column of object {number}", 0, edge, -1, "cells"),
                Entry(f"level of object {number}", 1, heaviest, 0),
            )
        )
        note = "Objects left and in sight come first, in row-major order. A whole team can always take any of them."
        return Layout(agent, objects, ACTION_NAMES, note)

    def positions(self, state: ForagingState) -> tuple[Int[Array, "slots 2"], Int[Array, "objects 2"]]:
        return state.position, state.food_position

    def relocate(
        self, state: ForagingState, agents: Int[Array, "slots 2"], objects: Int[Array, "objects 2"]
    ) -> ForagingState:
        return ForagingState(state.present, agents, state.level, objects, state.food_level)

    def hide(
        self, state: ForagingState, agents: Bool[Array, "slots"], objects: Bool[Array, "objects"]
    ) -> ForagingState:
        left = jnp.where(objects, 0, state.food_level)
        return ForagingState(state.present & ~agents, state.position, state.level, state.food_position, left)

    def locate(self, agents: Float[Array, "*batch feat"]) -> Float[Array, "*batch 2"]:
        return agents[..., :2]

    def rgb(self, state: ForagingState) -> np.ndarray:
        return to_rgb(state, self.size)

    def markers(self, state: ForagingState) -> list[Marker]:
        return markers(state, self.size)

    def text(self, state: ForagingState) -> str:
        return to_text(state, self.size)

    def check(self, slots: int) -> None:
        free = self.size**2 - self.foods
        if slots > free:
            raise UserError(
                f"{slots} agents do not fit on a {self.size}x{self.size} grid with {self.foods} foods: at most "
                f"{free} cells are free. Lower the cap or raise the world's size."
            )
        if (self.size - 2) ** 2 < slots:
            raise UserError(
                f"On a {self.size}x{self.size} grid {slots} agents may leave no room for food, which is never at "
                "the border. Lower the cap or raise the world's size."
            )
