"""Drawing free cells of a grid: one uniform number decides one cell, with no rejection loop, sort or key per draw."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

NOWHERE = 2**30  # the number of a cell that is on no grid


def place_agents(
    uniform: Float[Array, "slots"],
    position: Int[Array, "slots 2"],
    there: Bool[Array, "slots"],
    joining: Bool[Array, "slots"],
    obstacle: Int[Array, "obstacles 2"],
    standing: Bool[Array, "obstacles"],
    size: int,
) -> Int[Array, "slots 2"]:
    """Put joining agents on free cells, one after the other; on the last row or column only if all else is taken."""
    taken = number(jnp.concatenate([position, obstacle]), size)
    taken = jnp.where(jnp.concatenate([there & ~joining, standing]), taken, NOWHERE)
    drawn = draw_free(uniform, joining, taken, preferred=(size - 1) ** 2, cells=size**2)
    return jnp.where(joining[:, None], coordinates(drawn, size), position)


def draw_free(
    uniform: Float[Array, "n"], wanted: Bool[Array, "n"], taken: Int[Array, "bodies"], *, preferred: int, cells: int
) -> Int[Array, "n"]:
    """For everybody ``wanted``, in order, a free cell of its own; ``taken`` cells are not free.

    The first ``preferred`` numbers are used up before the rest. The n-th free cell is found from the bodies alone: it
    is n plus the number of bodies with at most n free cells before them. So the cost grows with the number of bodies,
    not with the size of the grid.
    """
    # Bodies that share a cell take only one.
    index = jnp.arange(len(taken))
    repeated = ((taken[None, :] == taken[:, None]) & (index[None, :] < index[:, None])).any(1)
    taken = jnp.where(repeated, NOWHERE, taken)
    free_before = taken - (taken[None, :] < taken[:, None]).sum(1)
    nowhere = jnp.full(len(wanted), NOWHERE)
    drawers = jnp.arange(len(taken) + len(wanted)) - len(taken)

    def draw(bodies: tuple[Array, Array], who: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], Array]:
        cell, free_before = bodies
        u, drawer, wants = who
        free_preferred, free = preferred - (cell < preferred).sum(), cells - (cell < NOWHERE).sum()
        room = jnp.where(free_preferred > 0, free_preferred, free)
        nth = jnp.minimum(jnp.floor(u * room).astype(jnp.int32), room - 1)
        drawn = nth + (free_before <= nth).sum()
        mine = (drawers == drawer) & wants
        free_before = jnp.where(mine, nth, free_before - ((cell > drawn) & wants))
        return (jnp.where(mine, drawn, cell), free_before), drawn

    bodies = jnp.concatenate([taken, nowhere]), jnp.concatenate([free_before, nowhere])
    _, drawn = jax.lax.scan(draw, bodies, (uniform, jnp.arange(len(wanted)), wanted), unroll=min(len(wanted), 8))
    return drawn


def number(position: Int[Array, "*n 2"], size: int) -> Int[Array, "*n"]:
    """The index of a cell in the order of preference: row-major without the last row and column, then these."""
    row, column = position[..., 0], position[..., 1]
    edge = size - 1
    outer = edge**2 + jnp.where(row == edge, column, size + row)
    return jnp.where((row < edge) & (column < edge), row * edge + column, outer)


def coordinates(number: Int[Array, "*n"], size: int) -> Int[Array, "*n 2"]:
    """The inverse of ``number``."""
    edge = size - 1
    outer = number - edge**2
    row = jnp.where(outer < 0, number // edge, jnp.where(outer < size, edge, outer - size))
    column = jnp.where(outer < 0, number % edge, jnp.where(outer < size, outer, edge))
    return jnp.stack([row, column], -1).astype(jnp.int32)


def draw_cell(uniform: Float[Array, ""], allowed: Bool[Array, "rows columns"]) -> Int[Array, "2"]:
    """A uniformly drawn allowed cell: first its row, then its column. Undefined if no cell is allowed."""
    in_row = allowed.sum(1)
    nth = jnp.floor(uniform * in_row.sum()).astype(jnp.int32)
    nth = jnp.minimum(nth, in_row.sum() - 1)
    row = (up_to(in_row) <= nth).sum()
    passed = jnp.where(jnp.arange(len(in_row)) < row, in_row, 0).sum()
    line = (allowed & (jnp.arange(len(in_row)) == row)[:, None]).any(0)
    column = (up_to(line.astype(jnp.int32)) <= nth - passed).sum()
    return jnp.stack([row, column]).astype(jnp.int32)


def up_to(counts: Int[Array, "n"]) -> Int[Array, "n"]:
    """Cumulative sums, by comparison: ``jnp.cumsum`` would cost more than all the rest of a draw."""
    index = jnp.arange(len(counts))
    return jnp.where(index[None, :] <= index[:, None], counts[None, :], 0).sum(1)


def occupied(position: Int[Array, "bodies 2"], there: Bool[Array, "bodies"], size: int) -> Bool[Array, "size size"]:
    """The cells that bodies stand on."""
    cells = jnp.arange(size)
    row = (position[:, :1] == cells) & there[:, None]
    column = position[:, 1:] == cells
    return (row[:, :, None] & column[:, None, :]).any(0)
