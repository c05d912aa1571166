"""One step of Level-Based Foraging: everybody moves at once, then loads.

Rules (the paper's text; where it is silent, those of its released code):

- a move off the grid or into food, and a load with no food beside, count as none;
- agents with the same target cell all stay, and an agent that stays has its own cell as target; there is no cascade,
  so an agent may enter a cell that another failed to leave, and two agents may swap;
- a food is taken when the levels of the loading agents beside it reach its level; each of them gets that level as
  its reward.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.worlds.lbf.state import LOAD, MOVES, ForagingState, adjacent
from openteam.worlds.walking import NONE, settle


def beside_food(state: ForagingState) -> Bool[Array, "slots foods"]:
    """Which agents stand beside which food that is still there."""
    touching = adjacent(state.position[:, None], state.food_position[None])
    return touching & (state.food_level > 0) & state.present[:, None]


def effective(state: ForagingState, size: int) -> Bool[Array, "slots actions"]:
    """Which actions have an effect; ``none`` always counts."""
    target = state.position[:, None] + MOVES[None]
    inside = ((target >= 0) & (target < size)).all(-1)
    onto_food = ((target[:, :, None] == state.food_position).all(-1) & (state.food_level > 0)).any(-1)
    can_load = beside_food(state).any(-1)
    is_load = jnp.arange(len(MOVES)) == LOAD
    return jnp.where(is_load, can_load[:, None], inside & ~onto_food)


def move(state: ForagingState, actions: Int[Array, "slots"]) -> Int[Array, "slots 2"]:
    """Next positions: agents with the same target all stay."""
    return settle(state.position, state.position + jnp.asarray(MOVES)[actions], state.present)


def load(state: ForagingState, loading: Bool[Array, "slots"]) -> tuple[Int[Array, "foods"], Float[Array, "slots"]]:
    """Food levels after loading, and the level of the food that each agent helped to take."""
    helping = beside_food(state) & loading[:, None]
    strength = (helping * state.level[:, None]).sum(0)
    taken = (strength >= state.food_level) & (state.food_level > 0)
    reward = (helping & taken) @ state.food_level.astype(jnp.float32)
    return jnp.where(taken, 0, state.food_level), reward


def transition(
    state: ForagingState, actions: Int[Array, "slots"], size: int
) -> tuple[ForagingState, Float[Array, "slots"]]:
    """The next state and everybody's reward."""
    can = jnp.take_along_axis(effective(state, size), actions[:, None], 1)[:, 0]
    actions = jnp.where(can & state.present, actions, NONE)
    moved = ForagingState(state.present, move(state, actions), state.level, state.food_position, state.food_level)
    food_level, reward = load(moved, (actions == LOAD) & state.present)
    return ForagingState(state.present, moved.position, state.level, state.food_position, food_level), reward
