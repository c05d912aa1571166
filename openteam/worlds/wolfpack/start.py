"""Where hunters and prey appear: on distinct free cells, all equally likely.

There is no rejection, no sort and no grid: bodies draw one after the other from what is left, and comparisons turn
"the r-th cell of those left" into a cell.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.worlds.wolfpack.state import WolfpackState

NOBODY = jnp.iinfo(jnp.int32).max


def draw_cells(
    uniform: Float[Array, "n"], wanted: Bool[Array, "n"], taken: Int[Array, "m 2"], there: Bool[Array, "m"], size: int
) -> Int[Array, "n 2"]:
    """For all who are ``wanted``, distinct cells off those that are ``taken`` by somebody ``there``."""
    n = len(uniform)
    index = jnp.arange(n)
    left = size**2 - there.sum() - (wanted[None, :] & (index[None, :] < index[:, None])).sum(1)
    drawn = jnp.minimum(jnp.floor(uniform * left).astype(jnp.int32), left - 1)
    # A number counts the cells that were left when it was drawn. Put back, latest first, the cells drawn before it:
    # each one at or below moves the count up.
    place = drawn
    for earlier in reversed(range(n)):
        moves = wanted[earlier] & (index > earlier) & (place >= drawn[earlier])
        place = place + moves
    cell = nth_free(place, taken[:, 0] * size + taken[:, 1], there)
    return jnp.stack([cell // size, cell % size], 1)


def nth_free(n: Int[Array, "n"], taken: Int[Array, "m"], there: Bool[Array, "m"]) -> Int[Array, "n"]:
    """The n-th cell, from 0, that nobody stands on: n and one more for every taken cell with at most n free before."""
    lower = there[None, :] & (taken[None, :] < taken[:, None])
    free_before = jnp.where(there, taken - lower.sum(1), NOBODY)
    return n + (free_before[None, :] <= n[:, None]).sum(1)


def start_state(key: Key[Array, ""], present: Bool[Array, "slots"], prey: int, size: int) -> WolfpackState:
    """Everybody somewhere, all prey facing up."""
    slots = len(present)
    everybody = jnp.concatenate([present, jnp.ones(prey, bool)])
    nothing = jnp.zeros((0, 2), jnp.int32), jnp.zeros(0, bool)
    cells = draw_cells(jax.random.uniform(key, (slots + prey,)), everybody, *nothing, size)
    none = jnp.zeros(prey, bool)
    return WolfpackState(present, cells[:slots], cells[slots:], jnp.zeros(prey, jnp.int32), none, ~none)


def admit(key: Key[Array, ""], state: WolfpackState, joining: Bool[Array, "slots"], size: int) -> WolfpackState:
    """Newcomers on free cells; one where a captured prey lies is not free."""
    taken = jnp.concatenate([state.position, state.prey_position])
    there = jnp.concatenate([state.present & ~joining, jnp.ones_like(state.captured)])
    cells = draw_cells(jax.random.uniform(key, (len(joining),)), joining, taken, there, size)
    position = jnp.where(joining[:, None], cells, state.position)
    return eqx.tree_at(lambda s: (s.present, s.position), state, (state.present | joining, position))


def respawn(key: Key[Array, ""], state: WolfpackState, size: int) -> WolfpackState:
    """Prey captured in the step before come back on free cells."""
    taken = jnp.concatenate([state.position, state.prey_position])
    there = jnp.concatenate([state.present, ~state.captured])
    cells = draw_cells(jax.random.uniform(key, state.captured.shape), state.captured, taken, there, size)
    position = jnp.where(state.captured[:, None], cells, state.prey_position)
    alive = jnp.zeros_like(state.captured)
    return eqx.tree_at(lambda s: (s.prey_position, s.captured), state, (position, alive))
