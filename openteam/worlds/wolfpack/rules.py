"""One step of Wolfpack: everybody moves at once, then prey are captured.

Rules (the paper's text; where it is silent, those of its released code):

- a move off the grid counts as none;
- bodies, hunters and prey alike, with the same target cell all stay; a body that stays has its own cell as target;
  this is repeated until no two targets are equal, so a body that cannot leave blocks all behind it; two may swap;
- a prey is captured when at least two hunters stand beside it; with n beside, each of them gets 2 n;
- a hunter who stands beside a prey with no other hunter beside it pays the close penalty;
- rewards add up over the prey.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.worlds.wolfpack.state import STAY, TURN_LEFT, TURN_RIGHT, WolfpackState, displacement, distance, inside


def beside_prey(state: WolfpackState) -> Bool[Array, "slots prey"]:
    """Which hunters stand beside which prey."""
    return (distance(state.position[:, None], state.prey_position[None]) == 1) & state.present[:, None]


def effective(position: Int[Array, "*n 2"], size: int) -> Bool[Array, "*n 5"]:
    """Which steps stay on the grid."""
    return inside(position[..., None, :] + displacement(jnp.arange(STAY + 1)), size)


def transition(
    state: WolfpackState, actions: Int[Array, "slots"], prey_actions: Int[Array, "prey"], size: int
) -> WolfpackState:
    """The next state: everybody moves, then prey are captured. Captured prey must have come back before."""
    turned = (state.facing + (prey_actions == TURN_RIGHT) - (prey_actions == TURN_LEFT)) % 4
    direction = jnp.where(prey_actions < STAY, (state.facing + prey_actions) % 4, STAY)
    bodies = jnp.concatenate([state.position, state.prey_position])
    there = jnp.concatenate([state.present, jnp.ones_like(state.captured)])
    moved = move(bodies, jnp.concatenate([actions, direction]), there, size)
    slots = len(actions)
    after = eqx.tree_at(
        lambda s: (s.position, s.prey_position, s.facing), state, (moved[:slots], moved[slots:], turned)
    )
    return eqx.tree_at(lambda s: s.captured, after, beside_prey(after).sum(0) >= 2)


def move(
    position: Int[Array, "bodies 2"], direction: Int[Array, "bodies"], there: Bool[Array, "bodies"], size: int
) -> Int[Array, "bodies 2"]:
    """Next positions of bodies. Distinct cells stay distinct."""
    target = position + displacement(direction)
    target = jnp.where((inside(target, size) & there)[:, None], target, position)
    cell, aim = (each[:, 0] * size + each[:, 1] for each in (position, target))
    others = there[None, :] & ~jnp.eye(len(there), dtype=bool)
    follows = (aim[:, None] == cell[None, :]) & others  # the target is a cell that another stands on now
    stuck = ((aim[:, None] == aim[None, :]) & others).any(1)

    def spread(state: tuple[Bool[Array, "bodies"], Bool[Array, ""]]) -> tuple[Bool[Array, "bodies"], Bool[Array, ""]]:
        stuck, _ = state
        more = stuck | (follows & stuck[None, :]).any(1)
        return more, (more != stuck).any()

    stuck, _ = jax.lax.while_loop(lambda state: state[1], spread, (stuck, stuck.any()))
    return jnp.where(stuck[:, None], position, target)


def rewards(
    before: WolfpackState, after: WolfpackState, capture: float, close_penalty: float, shaping: float
) -> Float[Array, "slots"]:
    """Everybody's reward for the transition from one state, with all prey alive, to the next."""
    beside = beside_prey(after)
    hunters = beside.sum(0)
    share = jnp.where(hunters >= 2, capture * hunters, -close_penalty)
    progress = nearest_prey(before) - nearest_prey(after)
    return jnp.where(beside, share, 0.0).sum(1) + jnp.where(after.present, shaping * progress, 0.0)


def nearest_prey(state: WolfpackState) -> Int[Array, "slots"]:
    """Manhattan distance of every hunter to the nearest prey."""
    return distance(state.position[:, None], state.prey_position[None]).min(1)
