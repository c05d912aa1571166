"""Acting in environments in plain Python: these step elsewhere, everything else is compiled."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, UInt32

from openteam.compile_cache import quick_jit
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import NO_ACTION, Chunk, TimeStep, Truth
from openteam.host.environments import Environments, processes_for
from openteam.host.seen import Outcome, Seen, Sizes
from openteam.host.state import (
    HostState,
    first_state,
    first_timestep,
    next_state,
    teammates_act,
    timestep_of,
    truth_of,
)
from openteam.host.task import HostTask
from openteam.rollout.acting import Actor, start_memory
from openteam.teammates.pool import Pool

TEAM, TYPES = range(2)  # the uses of an environment's second key
SIDE_BY_SIDE = 16
"""Environments in which episodes are played for an evaluation."""


def open_environments(task: HostTask, count: int) -> Environments:
    """So many environments of a task."""
    return Environments(task.settings, task.sizes, count, processes_for(task.processes, count))


def start_host_actor(
    pool: Pool | None, policy: AbstractPolicy, seen: Seen, episodes: Int[Array, "envs"], key: Key[Array, ""]
) -> Actor:
    """New episodes, of which ``seen`` is the first that is seen."""
    envs, slots = seen.present.shape
    return Actor(first_state(pool, seen, episodes, key), first_timestep(seen), start_memory(policy, slots, envs))


def blank_seen(sizes: Sizes, envs: int) -> Seen:
    """The arrays of ``Seen`` before there is anything to see."""
    slots = (envs, sizes.slots)
    nobody, nothing = np.zeros(slots, bool), np.zeros(slots, np.int32)
    return Seen(
        agents=np.zeros((*slots, sizes.features), np.float32),
        shared=np.zeros((envs, sizes.shared), np.float32),
        present=nobody,
        visible=nobody,
        new=nobody,
        arrived=nobody,
        legal=np.zeros((*slots, sizes.actions), bool),
        types=nothing,
        starts=np.zeros(envs, bool),
        previous_actions=nothing,
    )


Words = UInt32[Array | np.ndarray, "envs 2 words"]
"""The keys of a step as plain numbers: of every environment one to act with, and one for its teammates."""


@quick_jit
def choose_actions(
    pool: Pool | None, policy: AbstractPolicy, actor: Actor, words: Words
) -> tuple[Int[Array, "envs slots"], Actor]:
    """The joint action, NO_ACTION where the environment's side decides, and the actor that remembers it."""
    state, keys = actor.env, as_keys(words)
    actions, memory = jax.vmap(policy.act)(keys[:, 0], actor.memory, actor.timestep.view)
    if pool is None:
        others, remembered = jnp.full_like(state.type_ids, NO_ACTION), state.memory
    else:
        act = jax.vmap(lambda key, *one: teammates_act(pool, jax.random.fold_in(key, TEAM), *one))
        others, remembered = act(keys[:, 1], state.seen, state.type_ids, state.memory)
    joint_action = jnp.asarray(others, jnp.int32).at[:, 0].set(actions)
    return joint_action, Actor(
        HostState(state.seen, state.type_ids, remembered, state.episodes), actor.timestep, memory
    )


@quick_jit
def take_in(pool: Pool | None, state: HostState, outcome: Outcome, words: Words) -> tuple[HostState, TimeStep, Truth]:
    """What a step of all environments means."""
    outcome = jax.tree.map(jnp.asarray, outcome)
    k_types = jax.vmap(lambda key: jax.random.fold_in(key, TYPES))(as_keys(words)[:, 1])
    return next_state(pool, state, outcome, k_types), timestep_of(outcome), truth_of(state, outcome)


def as_keys(words: UInt32[Array | np.ndarray, "*keys words"]) -> Key[Array, "*keys"]:
    """The keys again."""
    return jax.random.wrap_key_data(jnp.asarray(words), impl=jax.random.key_impl(make_key(0)))


def as_chunk(steps: list[tuple[TimeStep, Array, Truth, Any]], last: TimeStep, before: Any) -> Chunk:
    """Steps one after the other, put together outside of compiled code: there may be thousands."""
    timesteps, joint_actions, truth, memory = jax.tree.map(lambda *leaves: np.stack(leaves), *steps)
    sequence = jax.tree.map(lambda t, end: np.concatenate([t, np.asarray(end)[None]]), timesteps, last)
    return device_chunk(sequence, joint_actions, truth, before, memory)


@quick_jit
def device_chunk(sequence: TimeStep, joint_actions: Array, truth: Truth, before: Any, memory: Any) -> Chunk:
    """A chunk of arrays that JAX has."""
    return Chunk(sequence, joint_actions[..., 0], truth, before, memory)


@quick_jit
def split_words(key: Key[Array, ""], steps: int, envs: int) -> UInt32[Array, "time envs 2 words"]:
    """Keys for a few steps, the same as in ``acting.collect``."""
    return jax.random.key_data(jax.random.split(key, (steps, envs, 2)))


class HostCollector:
    """The counterpart of ``acting.collect``: the same chunks, from environments in plain Python."""

    def __init__(self, task: HostTask, envs: int, seed: int):
        self.task = task
        self.seed = seed
        self.envs = envs
        self.environments = open_environments(task, envs)
        self.seconds = 0.0  # in the user's code, all processes together

    def start(self, begun: Int[np.ndarray, "envs"]) -> Seen:
        """New episodes in all environments, in which so many have begun before."""
        self.begun = np.asarray(begun) + 1
        self.following = np.array([self.episode_seed(env) for env in range(self.envs)])
        first = [episode_seed(self.seed, env, int(number)) for env, number in enumerate(begun)]
        return self.environments.start(np.array(first))

    def episode_seed(self, env: int) -> int:
        """Of the episode that follows in an environment."""
        return episode_seed(self.seed, env, int(self.begun[env]))

    def collect(self, policy: AbstractPolicy, actor: Actor, key: Key[Array, ""], steps: int) -> tuple[Actor, Chunk]:
        """Act for a few steps with a fixed policy and keep everything."""
        before, kept, pool = actor.memory, [], self.task.pool
        for words in np.asarray(split_words(key, steps, self.envs)):
            joint_action, decided = choose_actions(pool, policy, actor, words)
            outcome = self.step(np.asarray(joint_action))
            env, timestep, truth = take_in(pool, decided.env, outcome, words)
            kept.append((actor.timestep, joint_action, truth, decided.memory))
            actor = Actor(env, timestep, decided.memory)
        return actor, as_chunk(kept, actor.timestep, before)

    def step(self, joint_action: Int[np.ndarray, "envs slots"]) -> Outcome:
        """One step of all environments."""
        outcome = self.environments.step(joint_action, self.following)
        self.seconds += float(outcome.seconds.sum())
        for env in np.flatnonzero(outcome.ends).tolist():
            self.begun[env] += 1
            self.following[env] = self.episode_seed(env)
        return outcome

    def close(self) -> None:
        """End the environments."""
        self.environments.close()


def episode_seed(seed: int, env: int, number: int) -> int:
    """The seed of an episode, by the run's seed, the environment and how many came before."""
    return int(np.random.SeedSequence((seed, env, number)).generate_state(1)[0] >> 1)


def play_on_host(policy: AbstractPolicy, task: HostTask, episodes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths of ``episodes`` episodes. Which ones depends on the seed alone."""
    envs = min(episodes, SIDE_BY_SIDE)
    playing, clock = np.arange(envs), np.zeros(envs, np.int32)
    returns, lengths = np.zeros(episodes + envs), np.zeros(episodes + envs, int)
    k_start, k_play = jax.random.split(make_key(seed))
    root_words = np.asarray(jax.random.key_data(k_play))
    with open_environments(task, envs) as environments:
        seen = environments.start(np.array([episode_seed(seed, 0, int(number)) for number in playing]))
        actor = start_host_actor(task.pool, policy, seen, jnp.zeros(envs, jnp.int32), k_start)
        while (playing < episodes).any():
            words = np.asarray(episode_words(root_words, playing, clock))
            joint_action, decided = choose_actions(task.pool, policy, actor, words)
            following = np.array([episode_seed(seed, 0, int(number)) for number in playing + envs])
            outcome = environments.step(np.asarray(joint_action), following)
            here = np.minimum(playing, episodes + np.arange(envs))  # those who are done write where nobody reads
            returns[here] += outcome.reward
            lengths[here] += 1
            playing, clock = playing + envs * outcome.ends, np.where(outcome.ends, 0, clock + 1).astype(np.int32)
            env, timestep, _ = take_in(task.pool, decided.env, outcome, words)
            actor = Actor(env, timestep, decided.memory)
    return returns[:episodes].astype(np.float32), lengths[:episodes]


@quick_jit
def episode_words(
    root: UInt32[Array | np.ndarray, "words"],
    playing: Int[Array | np.ndarray, "envs"],
    clock: Int[Array | np.ndarray, "envs"],
) -> UInt32[Array, "envs 2 words"]:
    """Keys that belong to an episode and its clock, wherever it is played."""

    def keys(number: Array, clock: Array) -> Array:
        return jax.random.split(jax.random.fold_in(jax.random.fold_in(as_keys(root), number), clock))

    return jax.random.key_data(jax.vmap(keys)(jnp.asarray(playing), jnp.asarray(clock)))
