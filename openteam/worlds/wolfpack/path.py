"""The shortest way around bodies: a flood that spreads from the goal until it reaches the walker.

A row of the grid is a number and its cells are bits, so one round of the flood is a handful of shifts a row.
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
    """Which steps up, right, down and left begin a shortest way; none if there is no way, or none is ``needed``.

    No way leads over a cell where a body is, the goal included. There are as many rounds as the way has cells.
    """
    whole = jnp.full(size, (1 << size) - 1, jnp.uint32)
    free = whole & ~jnp.bitwise_or.reduce(jax.vmap(board, (0, 0, None))(body, there, size), axis=0)
    around = spread(board(start, jnp.ones((), bool), size))
    flood = board(goal, needed, size) & free

    def grow(state: tuple[Board, Bool[Array, ""]]) -> tuple[Board, Bool[Array, ""]]:
        flood, _ = state
        grown = spread(flood) & free
        return grown, (grown != flood).any() & ~((grown & around) > 0).any()

    flood, _ = jax.lax.while_loop(lambda state: state[1], grow, (flood, needed & ~((flood & around) > 0).any()))
    row, column = start[0], start[1]
    cell_row, cell_column = row + jnp.array([-1, 0, 1, 0]), column + jnp.array([0, 1, 0, -1])
    line = jnp.where(cell_row[:, None] == jnp.arange(size), flood, 0).sum(1)
    return (cell_column >= 0) & ((line >> jnp.maximum(cell_column, 0).astype(jnp.uint32)) & 1 > 0)


def board(cell: Int[Array, "2"], there: Bool[Array, ""], size: int) -> Board:
    """A board with one cell on it, if it is there."""
    bit = jnp.uint32(1) << jnp.maximum(cell[1], 0).astype(jnp.uint32)
    return jnp.where((jnp.arange(size) == cell[0]) & there, bit, jnp.uint32(0))


def spread(flood: Board) -> Board:
    """The flooded cells and all beside them. Bits beyond the grid fall off or are masked by the caller."""
    dry = jnp.zeros(1, jnp.uint32)
    above, below = jnp.concatenate([flood[1:], dry]), jnp.concatenate([dry, flood[:-1]])
    return flood | (flood << 1) | (flood >> 1) | above | below
