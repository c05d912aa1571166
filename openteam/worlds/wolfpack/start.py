"""Where hunters and prey appear: on distinct free cells, all equally likely."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.worlds.placing import NOWHERE, draw_free
from openteam.worlds.wolfpack.state import WolfpackState


def draw_cells(
    uniform: Float[Array, "n"], wanted: Bool[Array, "n"], taken: Int[Array, "m 2"], there: Bool[Array, "m"], size: int
) -> Int[Array, "n 2"]:
    """For everybody ``wanted``, distinct free cells; cells ``taken`` by somebody who is ``there`` are not free."""
    bodies = jnp.where(there, taken[:, 0] * size + taken[:, 1], NOWHERE)
    cell = draw_free(uniform, wanted, bodies, preferred=size**2, cells=size**2)
    return jnp.stack([cell // size, cell % size], 1)


def start_state(key: Key[Array, ""], present: Bool[Array, "slots"], prey: int, size: int) -> WolfpackState:
    """Everybody on a cell of its own, all prey facing up."""
    slots = len(present)
    everybody = jnp.concatenate([present, jnp.ones(prey, bool)])
    nothing = jnp.zeros((0, 2), jnp.int32), jnp.zeros(0, bool)
    cells = draw_cells(jax.random.uniform(key, (slots + prey,)), everybody, *nothing, size)
    none = jnp.zeros(prey, bool)
    return WolfpackState(present, cells[:slots], cells[slots:], jnp.zeros(prey, jnp.int32), none, ~none)


def admit(key: Key[Array, ""], state: WolfpackState, joining: Bool[Array, "slots"], size: int) -> WolfpackState:
    """Put newcomers on free cells. The cell of a captured prey is not free."""
    taken = jnp.concatenate([state.position, state.prey_position])
    there = jnp.concatenate([state.present & ~joining, jnp.ones_like(state.captured)])
    cells = draw_cells(jax.random.uniform(key, (len(joining),)), joining, taken, there, size)
    position = jnp.where(joining[:, None], cells, state.position)
    return eqx.tree_at(lambda s: (s.present, s.position), state, (state.present | joining, position))


def respawn(key: Key[Array, ""], state: WolfpackState, size: int, elsewhere: bool = False) -> WolfpackState:
    """Put prey that were captured in the last step on free cells; ``elsewhere``: not where one was captured."""
    taken = jnp.concatenate([state.position, state.prey_position])
    there = jnp.concatenate([state.present, jnp.full_like(state.captured, elsewhere) | ~state.captured])
    cells = draw_cells(jax.random.uniform(key, state.captured.shape), state.captured, taken, there, size)
    position = jnp.where(state.captured[:, None], cells, state.prey_position)
    alive = jnp.zeros_like(state.captured)
    return eqx.tree_at(lambda s: (s.prey_position, s.captured), state, (position, alive))
