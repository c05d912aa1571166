"""Compiled steps in which everybody's actions come from outside, the learner's slot being one like all others."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils.seeding import np_random
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.compile_cache import quick_jit
from openteam.core.types import Observation, View
from openteam.interop.playing import Playing, root_of, step_key
from openteam.rollout.joint_acting import everybodys_view, reset_jointly
from openteam.task import Task


class Turn(eqx.Module):
    """What a step led to, one row per slot."""

    view: View  # what each slot sees now; meaningless where nobody is
    last_obs: Observation  # what whoever was there before the step saw at its end, before anybody left or joined
    rewards: Float[Array, "slots"]
    present: Bool[Array, "slots"]
    arrived: Bool[Array, "slots"]  # the occupant is new
    left: Bool[Array, "slots"]  # whoever was there before the step is gone
    over: Bool[Array, ""]  # truly terminated, not only cut
    ends: Bool[Array, ""]


@quick_jit
def begin_team(task: Task, root: Key[Array, ""], episode: Int[Array, ""]) -> tuple[Playing, Turn]:
    """An episode from its start."""
    env, timestep = reset_jointly(task, step_key(root, episode, jnp.zeros((), jnp.int32)))
    nobody, no = jnp.zeros(task.slots, bool), jnp.zeros((), bool)
    present = env.world.present
    turn = Turn(timestep.view, timestep.view.obs, timestep.reward, present, present, nobody, no, no)
    return Playing(root, episode, env), turn


@quick_jit
def proceed_team(task: Task, playing: Playing, actions: Int[Array, "slots"]) -> tuple[Playing, Turn]:
    """One step that stays in its episode, also where that ends."""
    key = step_key(playing.root, playing.episode, playing.env.clock + 1)
    k_step, k_view, k_last = jax.random.split(key, 3)
    before = playing.env.world.present
    after, moved, rewards, over, ends = task.advance_world(jax.random.split(k_step, 4), playing.env, actions)
    after, view = everybodys_view(task, k_view, after)
    keys, slots = jax.random.split(k_last, task.slots), jnp.arange(task.slots)
    last_obs = jax.vmap(lambda k, viewer: task.view(k, task.world, moved, viewer))(keys, slots)
    present, arrived = after.world.present, after.arrived & after.world.present
    turn = Turn(view, last_obs, rewards, present, arrived, before & (~present | arrived), over, ends)
    return Playing(playing.root, playing.episode, after), turn


class TeamEpisodes:
    """Episodes of a task, one after the other, with everybody's actions given."""

    def __init__(self, task: Task):
        self.task = task
        self.playing: Playing | None = None

    def reset(self, seed: int | None) -> Turn:
        """A seed begins a sequence of episodes; without one the next of them begins."""
        if self.playing is None or seed is not None:
            self.playing, turn = begin_team(self.task, root_of(np_random(seed)[0]), jnp.int32(0))
        else:
            self.playing, turn = begin_team(self.task, self.playing.root, self.playing.episode + 1)
        return jax.device_get(turn)

    def step(self, actions: np.ndarray) -> Turn:
        assert self.playing is not None
        self.playing, turn = proceed_team(self.task, self.playing, jnp.asarray(actions))
        return jax.device_get(turn)

    @property
    def world(self) -> Any:
        """Its state now; None before the first episode."""
        return None if self.playing is None else self.playing.env.world
