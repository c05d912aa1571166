"""Several environments in plain Python between two steps, as the compiled side of a run knows them."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PyTree

from openteam.core.types import Observation, TimeStep, Truth, View
from openteam.core.view import teammates_views, viewer_first
from openteam.host.seen import Outcome, Seen
from openteam.teammates.pool import Pool


class HostState(eqx.Module):
    """What is needed to act and to learn. The environments themselves are elsewhere, and cannot be put back."""

    seen: Seen
    type_ids: Int[Array, "envs slots"]
    memory: PyTree[Any]  # the teammates', if policies act for them
    episodes: Int[Array, "envs"]  # begun so far

    @property
    def previous_actions(self) -> Int[Array, "envs slots"]:
        return self.seen.previous_actions


def first_state(pool: Pool | None, seen: Seen, episodes: Int[Array, "envs"], key: Key[Array, ""]) -> HostState:
    """New episodes."""
    seen = jax.tree.map(jnp.asarray, seen)
    envs, slots = seen.present.shape
    if pool is None:
        return HostState(seen, seen.types, (), episodes)
    type_ids = jax.vmap(lambda k: pool.draw(k, slots))(jax.random.split(key, envs))
    memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (envs, *leaf.shape)), pool.start(slots))
    return HostState(seen, type_ids, memory, episodes)


def next_state(pool: Pool | None, state: HostState, outcome: Outcome, keys: Key[Array, "envs"]) -> HostState:
    """After a step. Newcomers, and everybody in a new episode, draw a type."""
    seen = jax.tree.map(jnp.asarray, outcome.now)
    episodes = state.episodes + outcome.ends
    if pool is None:
        return HostState(seen, seen.types, (), episodes)

    def types(key: Array, before: Array, arrived: Array, starts: Array) -> Array:
        drawn = pool.draw(key, len(before))
        return jnp.where(starts | (arrived & pool.redraw), drawn, before)

    return HostState(
        seen, jax.vmap(types)(keys, state.type_ids, seen.arrived, seen.starts), state.memory, episodes
    )  # fmt: skip


def teammates_act(
    pool: Pool, key: Key[Array, ""], seen: Seen, type_ids: Int[Array, "slots"], memory: PyTree[Any]
) -> tuple[Int[Array, "slots"], PyTree[Any]]:
    """What every slot's type does now, seeing everything, in one environment; entry 0 is unused."""

    def observe(viewer: Array) -> Observation:
        agents, present = viewer_first(seen.agents, viewer), viewer_first(seen.present, viewer)
        return Observation(agents, seen.shared, present, seen.legal[viewer])

    obs = jax.vmap(observe)(jnp.arange(len(type_ids)))
    return pool.act(key, type_ids, memory, teammates_views(obs, seen.arrived, seen.previous_actions))


def view_of(seen: Seen) -> View:
    """What the learner may know, batched."""
    agents = jnp.where(seen.visible[..., None], seen.agents, 0.0)
    obs = Observation(agents, seen.shared, seen.visible, seen.legal[..., 0, :])
    return View(obs, seen.starts, seen.new, seen.previous_actions[..., 0])


def first_timestep(seen: Seen) -> TimeStep:
    """The beginning of a run, batched."""
    seen = jax.tree.map(jnp.asarray, seen)
    view, zeros = view_of(seen), jnp.zeros(seen.starts.shape)
    return TimeStep(view, zeros, zeros + 1, jnp.zeros(seen.starts.shape, bool), view)


def timestep_of(outcome: Outcome) -> TimeStep:
    """What the learner receives, batched."""
    return TimeStep(view_of(outcome.now), outcome.reward, outcome.discount, outcome.ends, view_of(outcome.after))


def truth_of(before: HostState, outcome: Outcome) -> Truth:
    """What happened in a step, for losses and metrics, batched. Nobody did anything in an empty slot."""
    seen = before.seen
    actions = jnp.maximum(outcome.actions, 0)
    return Truth(actions, seen.present, before.type_ids, outcome.rewards, seen.agents, seen.shared)
