"""Seeing what is inside a square around the viewer."""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.parts import Parts
from openteam.core.types import Observation
from openteam.core.view import AbstractView
from openteam.core.world import AbstractWorld
from openteam.errors import UserError
from openteam.views.full import observe
from openteam.views.partial import all_cells, as_grid_world


class Window(AbstractView):
    """Agents and objects in the square of side 2 radius + 1 around the viewer are visible, all others hidden.

    The defaults are the paper's 5 by 5 window of Level-Based Foraging and Penalized Cooperative Navigation.
    """

    radius: int = eqx.field(static=True, default=2)
    """Rows and columns in sight to each side."""
    coordinates: Literal["absolute", "window"] = eqx.field(static=True, default="absolute")
    """Count rows and columns from the grid's first cell, or from the first cell of the window inside the grid."""
    hide_objects: bool = eqx.field(static=True, default=True)
    """Hide objects outside, too. The released Navigation always shows its destinations."""
    stretch: bool = eqx.field(static=True, default=False)
    """A window cut by the first row or column grows beyond the viewer instead, for agents only: a quirk of the released
    code, which does not happen at the last row and column."""

    def __check_init__(self) -> None:
        if self.radius < 1:
            raise UserError(f"A window needs a radius of at least 1; got {self.radius}.")
        if self.coordinates == "window" and not self.hide_objects:
            raise UserError("An object outside the window has no coordinates in it. Hide objects, or use 'absolute'.")

    def __call__(
        self, key: Key[Array, ""], world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]
    ) -> Observation:
        del key
        grid = as_grid_world(self, world)
        agents, objects = grid.positions(state)
        centre = agents[viewer]
        shown = state
        if self.coordinates == "window":
            corner = jnp.maximum(centre - self.radius, 0)
            shown = grid.relocate(shown, agents - corner, objects - corner)
        outside = ~self.inside(centre, objects) if self.hide_objects else jnp.zeros(len(objects), bool)
        shown = grid.hide(shown, ~self.agent_visible(centre, agents), outside)
        return observe(world, state, shown, viewer)

    def check_parts(self, parts: Parts) -> None:
        as_grid_world(self, parts.world)

    def inside(self, centre: Int[Array, "2"], cells: Int[Array, "*n 2"]) -> Bool[Array, "*n"]:
        """Which cells lie in the square."""
        return (jnp.abs(cells - centre) <= self.radius).all(-1)

    def agent_visible(self, centre: Int[Array, "2"], cells: Int[Array, "*n 2"]) -> Bool[Array, "*n"]:
        """On which cells an agent is visible."""
        if not self.stretch:
            return self.inside(centre, cells)
        corner = jnp.maximum(centre - self.radius, 0)
        return ((cells >= corner) & (cells <= corner + 2 * self.radius)).all(-1)

    def sees(self, world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]) -> Bool[Array, "rows columns"]:
        grid = as_grid_world(self, world)
        agents, objects = grid.positions(state)
        cells = all_cells(grid.size)
        visible = self.agent_visible(agents[viewer], cells)
        return visible if self.hide_objects else visible | (cells[:, :, None] == objects).all(-1).any(-1)
