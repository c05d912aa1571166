"""The observation of a prey: everything relative to its position and heading, nearest first.

So a policy generalises over positions, headings, and the number and order of hunters.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.core.types import Observation
from openteam.core.view import viewer_first
from openteam.worlds.wolfpack.rules import effective
from openteam.worlds.wolfpack.state import STAY, WolfpackState

HUNTERS, PREY = 4, 1  # only this many of each are seen: the nearest
FEATURES = 4 + 3 * (HUNTERS + PREY)


def prey_observations(state: WolfpackState, size: int) -> Observation:
    """The observations of all prey, stacked; row 0 of each is its own."""
    rows = prey_rows(state, size)
    prey = jnp.arange(len(rows))
    everyone = jnp.ones((len(rows), len(rows)), bool)
    first = jax.vmap(viewer_first, (None, 0))(rows, prey)
    return Observation(first, jnp.zeros((len(rows), 0)), everyone, prey_legal(state, size))


def prey_rows(state: WolfpackState, size: int) -> Float[Array, "prey feat"]:
    """Cells to the wall ahead, right, behind and left; then (ahead, right, 1 / distance) of hunters, of other prey.

    Zeros stand for bodies that are not there.
    """
    row, column = state.prey_position[:, 0], state.prey_position[:, 1]
    to_wall = jnp.stack([row, size - 1 - column, size - 1 - row, column], 1)
    side = (state.facing[:, None] + jnp.arange(4)) % 4
    walls = (to_wall[:, None, :] * (side[:, :, None] == jnp.arange(4))).sum(-1)
    others = ~jnp.eye(len(row), dtype=bool)
    hunters = nearest(state, state.position, jnp.broadcast_to(state.present, (len(row), len(state.present))), HUNTERS)
    return jnp.concatenate([walls, hunters, nearest(state, state.prey_position, others, PREY)], 1)


def nearest(
    state: WolfpackState, position: Int[Array, "bodies 2"], there: Bool[Array, "prey bodies"], count: int
) -> Float[Array, "prey seen"]:
    """(ahead, right, 1 / distance) of the nearest bodies; ties go to the one farther ahead, then farther right."""
    gap = position[None] - state.prey_position[:, None]
    up, right = -gap[..., 0], gap[..., 1]
    facing = state.facing[:, None]
    sideways = facing % 2 == 1
    sign = jnp.where(facing < 2, 1, -1)
    ahead = jnp.where(sideways, right, up) * sign
    beside = jnp.where(sideways, -up, right) * sign
    far = jnp.abs(ahead) + jnp.abs(beside)
    order = (far * 256 - ahead) * 256 - beside
    rank = (there[:, None, :] & (order[:, None, :] < order[:, :, None])).sum(-1)
    chosen = there[:, None, :] & (rank[:, None, :] == jnp.arange(count)[:, None])
    near = jnp.where(far > 0, 1 / jnp.maximum(far, 1), 0.0)
    seen = jnp.stack([ahead, beside, near], -1)
    return jnp.where(chosen[..., None], seen[:, None], 0.0).sum(2).reshape(len(gap), 3 * count)


def prey_legal(state: WolfpackState, size: int) -> Bool[Array, "prey actions"]:
    """Moves that stay on the grid; staying and turning are always legal."""
    on_grid = effective(state.prey_position, size)[:, :STAY]
    side = (state.facing[:, None] + jnp.arange(4)) % 4
    steps = (on_grid[:, None, :] & (side[:, :, None] == jnp.arange(4))).any(-1)
    return jnp.concatenate([steps, jnp.ones((len(steps), 3), bool)], 1)
