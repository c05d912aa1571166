"""A million steps of random play, a quarter of them in each world: what must be true of every single one."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.compile_cache import once_jit
from openteam.core.random import key as make_key
from openteam.registry import make
from openteam.teammates import Pool, Uniform

ENVS, STEPS = 1000, 250
TOLERANCE = 1e-4  # floats of FortAttack are rounded


def within(entries, values):
    """Which numbers keep to their bounds, and which are those of one who is absent."""
    low, high, absent = (
        np.array([getattr(entry, part) for entry in entries], np.float32) for part in ("low", "high", "absent")
    )
    return (values >= low - TOLERANCE) & (values <= high + TOLERANCE), values == absent


def seen_as_declared(layout, obs):
    bounded, absent = within(layout.agents, obs.agents)
    shared, gone = within(layout.shared, obs.shared)
    return jnp.where(obs.visible[:, None], bounded, absent).all() & (shared | gone).all()


def alone(cells, there):
    """Whether no two of those that are there share a cell."""
    same = (cells[:, None] == cells[None]).all(-1) & there[:, None] & there[None]
    return same.sum() == there.sum()


def foraging(task, before, after, rewards):
    del task
    same = after.food_level == before.food_level
    eaten = jnp.where(same, 0, before.food_level)
    on_food = (after.position[:, None] == after.food_position[None]).all(-1) & (after.food_level > 0)
    return {
        "food keeps its level until it is eaten": (same | (after.food_level == 0)).all(),
        "everybody who helped is paid a level": ((rewards == 0) | (rewards[:, None] == eaten).any(1)).all(),
        "nothing is eaten unless somebody is paid": eaten.any() == (rewards > 0).any(),
        "nobody stands on food": ~(on_food & after.present[:, None]).any(),
    }


def wolfpack(task, before, after, rewards):
    del before, rewards
    cells = jnp.concatenate([after.position, after.prey_position])
    there = jnp.concatenate([after.present, jnp.ones(task.world.prey, bool)])
    return {"nobody is where another is": alone(cells, there)}


def navigation(task, before, after, rewards):
    gap = jnp.abs(after.destination[0] - after.destination[1]).max()
    moved = (before.destination != after.destination).any()
    return {
        "destinations are apart": gap >= task.world.apart,
        "destinations move exactly when both are paid for": moved == (rewards > 0).any(),
        "rewards are one, the penalty or nothing": ((rewards == 1) | (rewards == -0.2) | (rewards == 0)).all(),
    }


def fortattack(task, before, after, rewards):
    del before
    total = task.world.rewards.outcome + task.world.rewards.hit
    return {
        "all are present but those with a time out left": (after.present == (after.out_for == 0)).all(),
        "no reward is larger than outcome and hit": (jnp.abs(rewards) <= total + TOLERANCE).all(),
    }


WORLDS = {
    "lbf-partial-released": foraging,
    "wolfpack-partial-released": wolfpack,
    "navigation-partial-released": navigation,
    "fortattack": fortattack,
}


@once_jit
def play(task, layout, rules, key):
    """How often each rule was broken."""

    def step(env, key):
        k_act, k_env = jax.random.split(key)
        action = jax.random.randint(k_act, (), 0, task.world.actions)
        after, timestep, truth = task.step(k_env, env, action)
        going = ~timestep.ends
        world, there = after.world, after.world.present
        kept = {
            "all numbers are finite": jnp.isfinite(timestep.reward) & jnp.isfinite(truth.agents).all(),
            "what is seen is as declared": seen_as_declared(layout, timestep.view.obs),
            "the learner is always there": there[0],
            "who is seen is there": (timestep.view.obs.visible <= there).all(),
            "who was not there before has arrived": ~going | ((there & ~env.world.present) <= after.arrived).all(),
            "who has arrived is there": ~going | (after.arrived <= there).all(),
            "who is new is seen": (timestep.view.new <= timestep.view.obs.visible).all(),
            "absent agents get nothing": ((truth.rewards == 0) | truth.exists).all(),
        }
        kept |= {name: held | ~going for name, held in rules(task, env.world, world, truth.rewards).items()}
        return after, kept

    def steps(state, number):
        env, broken = state
        env, kept = jax.vmap(step)(env, jax.random.split(jax.random.fold_in(k_play, number), ENVS))
        return (env, {name: broken.get(name, 0) + (~held).sum() for name, held in kept.items()}), None

    k_start, k_play = jax.random.split(key)
    env, _ = jax.vmap(task.reset)(jax.random.split(k_start, ENVS))
    _, names = jax.eval_shape(lambda e: jax.vmap(step)(e, jax.random.split(k_play, ENVS)), env)
    none = {name: jnp.zeros((), jnp.int32) for name in names}
    return jax.lax.scan(steps, (env, none), jnp.arange(STEPS))[0][1]


@pytest.mark.parametrize("name", WORLDS)
def test_random_steps_keep_every_rule(name):
    task = dataclasses.replace(make(name), pool=Pool((Uniform(),)), splits={})
    broken = play(task, task.world.layout(task.slots), WORLDS[name], make_key(1))
    assert len(broken) > 7
    assert {rule: int(times) for rule, times in broken.items() if times} == {}
