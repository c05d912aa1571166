"""Where bodies and food appear.

Every cell is drawn by inverting the cumulative count of a mask, so there is no rejection loop, no sort and no key per
draw: one uniform number decides one cell. The distribution is that of the released code's rejection sampling.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.worlds.lbf.state import ForagingState


def draw_cell(uniform: Float[Array, ""], allowed: Bool[Array, "size size"]) -> Int[Array, "2"]:
    """A uniformly drawn allowed cell. With no allowed cell the last one: callers check ``allowed.any()``."""
    size = allowed.shape[0]
    count = jnp.cumsum(allowed.ravel())
    index = jnp.minimum(jnp.searchsorted(count, uniform * count[-1], side="right", method="compare_all"), size**2 - 1)
    return jnp.stack([index // size, index % size]).astype(jnp.int32)


def occupied(position: Int[Array, "bodies 2"], there: Bool[Array, "bodies"], size: int) -> Bool[Array, "size size"]:
    """The cells that bodies stand on."""
    cells = jnp.arange(size)
    row = (position[:, :1] == cells) & there[:, None]
    column = position[:, 1:] == cells
    return (row[:, :, None] & column[:, None, :]).any(0)


def food_forbidden(position: Int[Array, "2"], size: int) -> Bool[Array, "size size"]:
    """Cells too near a food for another one: its 3 by 3 box, and distance 2 along its row and column."""
    cells = jnp.arange(size)
    d_row = jnp.abs(cells - position[0])[:, None]
    d_column = jnp.abs(cells - position[1])[None, :]
    box = (d_row <= 1) & (d_column <= 1)
    cross = ((d_row == 0) & (d_column <= 2)) | ((d_column == 0) & (d_row <= 2))
    return box | cross


def place_agents(
    uniform: Float[Array, "slots"],
    position: Int[Array, "slots 2"],
    there: Bool[Array, "slots"],
    joining: Bool[Array, "slots"],
    blocked: Bool[Array, "size size"],
) -> Int[Array, "slots 2"]:
    """Put joining agents on free cells, one after the other; on the last row or column only if all else is taken."""
    size = blocked.shape[0]
    inner = jnp.arange(size) < max(size - 1, 1)
    taken = occupied(position, there & ~joining, size) | blocked

    def place(taken: Bool[Array, "size size"], who: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        u, old, joins = who
        free = ~taken
        preferred = free & inner[:, None] & inner[None, :]
        cell = jnp.where(joins, draw_cell(u, jnp.where(preferred.any(), preferred, free)), old)
        return taken | occupied(cell[None], joins[None], size), cell

    _, position = jax.lax.scan(place, taken, (uniform, position, joining))
    return position


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
    _, (cells, room) = jax.lax.scan(place, allowed, uniform)
    # A food that found no room comes last. Ranks by comparison, because a sort costs more than all the rest.
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
    position = place_agents(u_cell, jnp.zeros((slots, 2), jnp.int32), present, present, jnp.zeros((size, size), bool))
    food_position, room = place_food(u_food, occupied(position, present, size))
    heaviest = jnp.maximum((level * present).sum() - 1, 1)
    food_level = draw_level(u_food_level, heaviest)
    return ForagingState(present, position, level, food_position, jnp.where(room, food_level, 0))


def draw_level(uniform: Float[Array, "n"], highest: int | Int[Array, ""]) -> Int[Array, "n"]:
    """Levels uniform over 1 .. highest."""
    return jnp.minimum(1 + jnp.floor(uniform * highest).astype(jnp.int32), highest)
