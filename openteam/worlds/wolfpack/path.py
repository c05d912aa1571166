"""Shortest paths around bodies, by breadth-first search from the goal until it reaches the start.

A row of the grid is an integer and its cells are bits, so one round of the search is a few shifts per row.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

Board = UInt32[Array, "rows"]


def first_steps(
    start: Int[Array, "2"],
    goal: Int[Array, "2"],
    body: Int[Array, "bodies 2"],
    there: Bool[Array, "bodies"],
    needed: Bool[Array, ""],
    size: int,
) -> Bool[Array, "4"]:
    """Which steps up, right, down and left begin a shortest path; none if there is no path, or none is ``needed``.

    No path leads through a cell with a body, the goal included. There are as many rounds as the path has cells.
    """
    whole = jnp.full(size, (1 << size) - 1, jnp.uint32)
    free = whole & ~jnp.bitwise_or.reduce(jax.vmap(board, (0, 0, None))(body, there, size), axis=0)
    around = spread(board(start, jnp.ones((), bool), size))
    reached = board(goal, needed, size) & free

    def expand(state: tuple[Board, Bool[Array, ""]]) -> tuple[Board, Bool[Array, ""]]:
        reached, _ = state
        grown = spread(reached) & free
        return grown, (grown != reached).any() & ~((grown & around) > 0).any()

    reached, _ = jax.lax.while_loop(lambda state: state[1], expand, (reached, needed & ~((reached & around) > 0).any()))
    row, column = start[0], start[1]
    cell_row, cell_column = row + jnp.array([-1, 0, 1, 0]), column + jnp.array([0, 1, 0, -1])
    line = jnp.where(cell_row[:, None] == jnp.arange(size), reached, 0).sum(1)
    return (cell_column >= 0) & ((line >> jnp.maximum(cell_column, 0).astype(jnp.uint32)) & 1 > 0)


def board(cell: Int[Array, "2"], there: Bool[Array, ""], size: int) -> Board:
    """The grid with one bit set, if ``there``."""
    bit = jnp.uint32(1) << jnp.maximum(cell[1], 0).astype(jnp.uint32)
    return jnp.where((jnp.arange(size) == cell[0]) & there, bit, jnp.uint32(0))


def spread(reached: Board) -> Board:
    """The reached cells and their neighbours. Bits beyond the grid are shifted out or masked by the caller."""
    empty = jnp.zeros(1, jnp.uint32)
    above, below = jnp.concatenate([reached[1:], empty]), jnp.concatenate([empty, reached[:-1]])
    return reached | (reached << 1) | (reached >> 1) | above | below
