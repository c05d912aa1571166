"""Seeing what is near."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.parts import Parts
from openteam.core.types import Observation
from openteam.core.view import AbstractView
from openteam.core.world import AbstractWorld
from openteam.errors import UserError
from openteam.views.full import observe
from openteam.views.noise import jitter
from openteam.views.partial import all_cells, as_grid_world


class Radius(AbstractView):
    """Agents and objects within a Manhattan distance of the viewer are visible, all others hidden.

    The default is the paper's view of Wolfpack.
    """

    distance: int = eqx.field(static=True, default=3)
    """How far the viewer sees, this distance included."""
    object_noise: float = eqx.field(static=True, default=0.0)
    """Probability that a coordinate of an object in sight is off by one. The released Wolfpack has 0.2."""

    def __check_init__(self) -> None:
        if self.distance < 1 or not 0 <= self.object_noise <= 1:
            raise UserError(
                f"A radius needs a distance of at least 1 and object_noise between 0 and 1; got {self.distance} and "
                f"{self.object_noise}."
            )

    def __call__(
        self, key: Key[Array, ""], world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]
    ) -> Observation:
        grid = as_grid_world(self, world)
        agents, objects = grid.positions(state)
        centre = agents[viewer]
        shown = state
        if self.object_noise > 0:
            uniform = jax.random.uniform(key, objects.shape)
            shown = grid.relocate(shown, agents, jitter(uniform, objects, self.object_noise, grid.size))
        shown = grid.hide(shown, ~self.near(centre, agents), ~self.near(centre, objects))
        return observe(world, state, shown, viewer)

    def check_parts(self, parts: Parts) -> None:
        as_grid_world(self, parts.world)

    def near(self, centre: Int[Array, "2"], cells: Int[Array, "*n 2"]) -> Bool[Array, "*n"]:
        """Which cells are in sight."""
        return jnp.abs(cells - centre).sum(-1) <= self.distance

    def sees(self, world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]) -> Bool[Array, "rows columns"]:
        grid = as_grid_world(self, world)
        return self.near(grid.positions(state)[0][viewer], all_cells(grid.size))
