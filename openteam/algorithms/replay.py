"""Experience replay of joint training, on the device: the last steps of every environment, sampled evenly.

A replay is the ``context`` of its learner, so it is part of a run's state and a resumed run samples what an unkilled
one does. Rows are (environment, slot) pairs and each keeps its own side of a step only; the team is put together again
when a step is sampled. One chunk is written per update, so the number of updates says where the next one goes.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.chunks import acted_on, led_to
from openteam.core.types import Chunk, Observation, Spec
from openteam.errors import UserError


class Side(eqx.Module):
    """One agent's part of a state: what the others cannot tell."""

    own: Float[Array, "*batch feat"]
    shared: Float[Array, "*batch shared"]
    exists: Bool[Array, "*batch"]
    legal: Bool[Array, "*batch actions"]


class Transition(eqx.Module):
    """One step from one agent's side. A last axis ``slots`` of the batch makes it the step of a team."""

    before: Side
    action: Int[Array, "*batch"]
    reward: Float[Array, "*batch"]
    discount: Float[Array, "*batch"]  # 0 where the game was over for this agent: it ended, or the agent left
    stays: Bool[Array, "*batch"]  # the same agent is there before and after
    after: Side  # the true successor, also where an episode was cut


def kept_steps(replay: int, envs: int, update_every: int) -> int:
    """Steps of each environment in a replay of so many transitions: whole chunks, so that writing never wraps."""
    steps = replay // (envs * update_every) * update_every
    if not steps:
        raise UserError(
            f"A replay must hold at least one chunk, envs times update_every = {envs * update_every} transitions; "
            f"got {replay}."
        )
    return steps


def start_replay(spec: Spec, steps: int) -> Transition:
    """Room for so many steps of one row."""

    def side() -> Side:
        return Side(
            jnp.zeros((steps, spec.agent_features)),
            jnp.zeros((steps, spec.shared_features)),
            jnp.zeros(steps, bool),
            jnp.zeros((steps, spec.actions), bool),
        )

    zeros = jnp.zeros(steps)
    return Transition(side(), jnp.zeros(steps, jnp.int32), zeros, zeros, jnp.zeros(steps, bool), side())


def transitions(chunk: Chunk) -> Transition:
    """What each row of a chunk saw of itself, ``[time, rows]``."""
    led = led_to(chunk)

    def side(seen: Observation) -> Side:
        return Side(seen.agents[..., 0, :], seen.shared, seen.visible[..., 0], seen.legal)

    before, after = side(acted_on(chunk).obs), side(led.final_obs)
    stays = before.exists & after.exists & ~led.joined[..., 0]
    return Transition(before, chunk.actions, led.reward, led.discount, stays, after)


def push(replay: Transition, chunk: Chunk, pushes: Int[Array, ""]) -> Transition:
    """The replay with a chunk in place of its oldest steps, after so many chunks before this one."""
    time = len(chunk.actions)
    chunks = replay.action.shape[1] // time
    begin = pushes % chunks * time

    def write(kept: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(kept, jnp.swapaxes(new, 0, 1), begin, axis=1)

    return jax.tree.map(write, replay, transitions(chunk))


def sample(key: Key[Array, ""], replay: Transition, steps: Int[Array, ""], batch: int, slots: int) -> Transition:
    """Whole teams, ``[batch, slots]``, each from any of the first ``steps`` steps of any environment."""
    rows, room = replay.action.shape
    u_env, u_step = jax.random.uniform(key, (2, batch))
    env = jnp.floor(u_env * (rows // slots)).astype(jnp.int32)
    step = jnp.floor(u_step * jnp.minimum(steps, room)).astype(jnp.int32)
    team = env[:, None] * slots + jnp.arange(slots)
    return jax.tree.map(lambda leaf: leaf[team, step[:, None]], replay)


def mean_over(numbers: Float[Array, "*batch"], who: Bool[Array, "*batch"]) -> Float[Array, ""]:
    """The mean of some of the numbers; 0 of none."""
    return jnp.where(who, numbers, 0).sum() / jnp.maximum(who.sum(), 1)
