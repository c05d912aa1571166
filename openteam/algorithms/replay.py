"""Experience replay for joint training, on the device: the last steps of every environment, sampled evenly.

The buffer's content is the ``context`` of its learner, so it is part of a run's state and a resumed run samples what an
uninterrupted one does. Rows are (environment, slot) pairs, and each keeps what it saw of itself; sampling puts teams
together again. One chunk is written per update, so the number of updates says where the next one goes.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.checked import AbstractChecked
from openteam.core.types import Chunk, Spec, View
from openteam.errors import UserError, check_not_negative, check_positive


class AgentState(eqx.Module):
    """One agent's part of a team's state."""

    own: Float[Array, "*batch feat"]
    shared: Float[Array, "*batch shared"]
    exists: Bool[Array, "*batch"]
    legal: Bool[Array, "*batch actions"]


class Transition(eqx.Module):
    """One step of one agent; with a last batch axis ``slots``, of a team."""

    before: AgentState
    action: Int[Array, "*batch"]
    reward: Float[Array, "*batch"]
    discount: Float[Array, "*batch"]  # 0 where the game was over for this agent: it ended, or the agent left
    stays: Bool[Array, "*batch"]  # the same agent is there before and after
    after: AgentState  # the true successor, also where an episode was cut


class ReplayBuffer(AbstractChecked):
    """How much experience is kept, and how much of it an update learns from. A transition is a step of a whole team."""

    size: int = eqx.field(static=True)
    """Transitions kept, rounded down to whole chunks of envs times update_every."""
    batch: int = eqx.field(static=True)
    """Transitions that an update learns from."""
    warm_up: int = eqx.field(static=True)
    """Transitions before the networks change for the first time."""

    def __check_init__(self) -> None:
        check_positive(self, "size", "batch")
        check_not_negative(self, "warm_up")

    def steps(self, envs: int, update_every: int) -> int:
        """Steps kept of each environment: whole chunks, so that writing never wraps around."""
        steps = self.size // (envs * update_every) * update_every
        if not steps:
            raise UserError(
                f"A replay buffer must hold at least one chunk, envs times update_every = {envs * update_every} "
                f"transitions; got size {self.size}."
            )
        return steps

    def start(self, spec: Spec, envs: int, update_every: int) -> Transition:
        """Room for the steps of one row."""
        steps = self.steps(envs, update_every)
        state = AgentState(
            own=jnp.zeros((steps, spec.agent_features)),
            shared=jnp.zeros((steps, spec.shared_features)),
            exists=jnp.zeros(steps, bool),
            legal=jnp.zeros((steps, spec.actions), bool),
        )
        zeros, never = jnp.zeros(steps), jnp.zeros(steps, bool)
        return Transition(state, jnp.zeros(steps, jnp.int32), zeros, zeros, never, state)

    def push(self, kept: Transition, chunk: Chunk, updates: Int[Array, ""]) -> Transition:
        """With this chunk in place of the oldest one; ``updates`` chunks were pushed before it."""
        time = len(chunk.actions)
        begin = updates % (kept.action.shape[1] // time) * time

        def write(old: Array, new: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(old, jnp.swapaxes(new, 0, 1), begin, axis=1)

        return jax.tree.map(write, kept, transitions(chunk))

    def sample(self, key: Key[Array, ""], kept: Transition, steps: Int[Array, ""], slots: int) -> Transition:
        """A batch of steps of whole teams, ``[batch, slots]``, after ``steps`` steps of every environment."""
        rows, room = kept.action.shape
        u_env, u_step = jax.random.uniform(key, (2, self.batch))
        env = jnp.floor(u_env * (rows // slots)).astype(jnp.int32)
        step = jnp.floor(u_step * jnp.minimum(steps, room)).astype(jnp.int32)
        team = env[:, None] * slots + jnp.arange(slots)
        return jax.tree.map(lambda leaf: leaf[team, step[:, None]], kept)


def transitions(chunk: Chunk) -> Transition:
    """What each row of a chunk saw of itself, ``[time, rows]``."""

    def agent_state(view: View) -> AgentState:
        obs = view.obs
        return AgentState(obs.agents[..., 0, :], obs.shared, obs.visible[..., 0], obs.legal)

    after = chunk.next_timesteps
    before, successor = agent_state(chunk.timesteps.view), agent_state(after.final_view)
    stays = before.exists & successor.exists & ~after.final_view.starts
    return Transition(before, chunk.actions, after.reward, after.discount, stays, successor)
