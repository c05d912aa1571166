"""Where agents and food appear. The distribution is that of the released code's rejection sampling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.worlds.lbf.state import ForagingState
from openteam.worlds.placing import draw_cell, occupied, place_agents


def food_forbidden(position: Int[Array, "2"], size: int) -> Bool[Array, "size size"]:
    """Cells too near a food for another one: its 3 by 3 box, and distance 2 along its row and column."""
    cells = jnp.arange(size)
    d_row = jnp.abs(cells - position[0])[:, None]
    d_column = jnp.abs(cells - position[1])[None, :]
    box = (d_row <= 1) & (d_column <= 1)
    cross = ((d_row == 0) & (d_column <= 2)) | ((d_column == 0) & (d_row <= 2))
    return box | cross


def place_food(
    uniform: Float[Array, "foods"], agents: Bool[Array, "size size"]
) -> tuple[Int[Array, "foods 2"], Bool[Array, "foods"]]:
    """Food cells in row-major order, away from the border, from agents and from each other; and which found room."""
    size = agents.shape[0]
    inner = (jnp.arange(size) >= 1) & (jnp.arange(size) < size - 1)

    def place(allowed: Bool[Array, "size size"], u: Float[Array, ""]) -> tuple[Array, tuple[Array, Array]]:
        cell, room = draw_cell(u, allowed), allowed.any()
        return allowed & ~food_forbidden(cell, size), (cell, room)

    allowed = inner[:, None] & inner[None, :] & ~agents
    _, (cells, room) = jax.lax.scan(place, allowed, uniform, unroll=min(len(uniform), 8))
    # A food that found no room comes last. Ranks by comparison: a sort would cost more than all the rest.
    index = jnp.where(room, cells[:, 0] * size + cells[:, 1], size**2 + jnp.arange(len(uniform)))
    rank = (index[None, :] < index[:, None]).sum(1)
    order = (rank[None, :] == jnp.arange(len(uniform))[:, None]).astype(jnp.int32)
    return order @ cells, (order @ room.astype(jnp.int32)).astype(bool)


def start_state(key: Array, present: Bool[Array, "slots"], size: int, foods: int, max_level: int) -> ForagingState:
    """Agents first, then food. A food's level is uniform over 1 .. S - 1, S being the summed levels at the start."""
    slots = present.shape[0]
    u_cell, u_level, u_food, u_food_level = jnp.split(
        jax.random.uniform(key, (2 * slots + 2 * foods,)), (slots, 2 * slots, 2 * slots + foods)
    )
    level = draw_level(u_level, max_level)
    nowhere, nothing = jnp.zeros((slots, 2), jnp.int32), jnp.zeros((0, 2), jnp.int32)
    position = place_agents(u_cell, nowhere, present, present, nothing, jnp.zeros(0, bool), size)
    food_position, room = place_food(u_food, occupied(position, present, size))
    heaviest = jnp.maximum((level * present).sum() - 1, 1)
    food_level = draw_level(u_food_level, heaviest)
    return ForagingState(present, position, level, food_position, jnp.where(room, food_level, 0))


def draw_level(uniform: Float[Array, "n"], highest: int | Int[Array, ""]) -> Int[Array, "n"]:
    """Levels uniform over 1 .. highest."""
    return jnp.minimum(1 + jnp.floor(uniform * highest).astype(jnp.int32), highest)
