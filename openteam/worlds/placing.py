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
    """Put joining agents on free cells, one after the other; on the last row or column only if all else is taken.

    The n-th free cell is found from the bodies alone: it is n plus the number of bodies with at most n free cells
    before them. So a draw costs as much as there are bodies, however large the grid.
    """
    slots, inner = len(joining), (size - 1) ** 2
    taken = jnp.concatenate([there & ~joining, standing])
    cell = jnp.where(taken, number(jnp.concatenate([position, obstacle]), size), NOWHERE)
    # Bodies that share a cell take only one.
    same = cell[None, :] == cell[:, None]
    earlier = jnp.arange(len(cell))[None, :] < jnp.arange(len(cell))[:, None]
    cell = jnp.where((same & earlier).any(1), NOWHERE, cell)
    free_before = cell - (cell[None, :] < cell[:, None]).sum(1)

    def place(bodies: tuple[Array, Array], who: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], Array]:
        cell, free_before = bodies
        u, slot, joins = who
        free_inner, free = inner - (cell < inner).sum(), size**2 - (cell < NOWHERE).sum()
        room = jnp.where(free_inner > 0, free_inner, free)
        nth = jnp.minimum(jnp.floor(u * room).astype(jnp.int32), room - 1)
        drawn = nth + (free_before <= nth).sum()
        mine = (jnp.arange(len(cell)) == slot) & joins
        free_before = jnp.where(mine, nth, free_before - ((cell > drawn) & joins))
        return (jnp.where(mine, drawn, cell), free_before), drawn

    _, drawn = jax.lax.scan(place, (cell, free_before), (uniform, jnp.arange(slots), joining), unroll=min(slots, 8))
    return jnp.where(joining[:, None], coordinates(drawn, size), position)


def number(position: Int[Array, "*n 2"], size: int) -> Int[Array, "*n"]:
    """Cells in the order of preference: row-major without the last row and column, then these."""
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
    """A uniformly drawn allowed cell: first its row, then its column. Nonsense if no cell is allowed."""
    in_row = allowed.sum(1)
    nth = jnp.floor(uniform * in_row.sum()).astype(jnp.int32)
    nth = jnp.minimum(nth, in_row.sum() - 1)
    row = (up_to(in_row) <= nth).sum()
    passed = jnp.where(jnp.arange(len(in_row)) < row, in_row, 0).sum()
    line = (allowed & (jnp.arange(len(in_row)) == row)[:, None]).any(0)
    column = (up_to(line.astype(jnp.int32)) <= nth - passed).sum()
    return jnp.stack([row, column]).astype(jnp.int32)


def up_to(counts: Int[Array, "n"]) -> Int[Array, "n"]:
    """Running sums. By comparison, because a cumulative sum costs more than all the rest of a draw."""
    index = jnp.arange(len(counts))
    return jnp.where(index[None, :] <= index[:, None], counts[None, :], 0).sum(1)


def occupied(position: Int[Array, "bodies 2"], there: Bool[Array, "bodies"], size: int) -> Bool[Array, "size size"]:
    """The cells that bodies stand on."""
    cells = jnp.arange(size)
    row = (position[:, :1] == cells) & there[:, None]
    column = position[:, 1:] == cells
    return (row[:, :, None] & column[:, None, :]).any(0)
