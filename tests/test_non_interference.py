"""Nothing that is hidden reaches the learner: worlds that differ only there give equal views and equal decisions.

Twin worlds are equal but for agents out of sight: those stand elsewhere, are of another type, or have just taken over
their slot. Both are stepped with the same random numbers. As long as the learner has seen the same, and the same
occupants, everything it is given must be the same bit for bit, and so must what it decides.
"""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import openteam
from openteam.compile_cache import once_jit
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import View
from openteam.core.world import GridWorld
from openteam.deploy.conftest import new_policy
from openteam.task import EnvState, Task
from openteam.tasks import TASKS
from openteam.teammates import Pool, Uniform, UniformRandom
from openteam.training.test_every_algorithm import NAMES, tiny
from openteam.views import FullView

# The tasks with the authors' agents have the views of those that they are made of.
OURS = {name: build for name, build in TASKS.items() if not name.endswith("-authors")}
PARTIAL = [name for name, build in OURS.items() if not isinstance(build().view, FullView)]
ENVS, WARM_UP, STEPS = 64, 6, 8


def twin(task: Task, state: EnvState, visible: jax.Array) -> EnvState:
    """The same to the learner: hidden agents are other ones, of another type, and elsewhere if the world has cells."""
    hidden = state.world.present & ~visible
    other = eqx.tree_at(
        lambda s: (s.type_ids, s.visits, s.arrived),
        state,
        (
            jnp.where(hidden, (state.type_ids + 1) % task.pool.size, state.type_ids),
            state.visits + hidden,
            state.arrived | hidden,
        ),
    )
    if not isinstance(task.world, GridWorld):
        return other
    agents, objects = task.world.positions(state.world)
    mirrored = jnp.where(hidden[:, None], task.world.size - 1 - agents, agents)
    moved = task.world.relocate(state.world, mirrored, objects)
    learner = jnp.zeros((), jnp.int32)
    seen, before = (task.view.sees(task.world, world, learner) for world in (moved, state.world))
    at = seen[mirrored[:, 0], mirrored[:, 1]] if seen.size > 1 else jnp.zeros(len(mirrored), bool)
    clash = (mirrored[:, None] == jnp.concatenate([mirrored, objects])[None]).all(-1).sum() > len(mirrored)
    in_sight = (hidden & at).any() | clash | (seen != before).any()
    world = jax.tree.map(lambda old, new: jnp.where(in_sight, old, new), state.world, moved)
    return eqx.tree_at(lambda s: s.world, other, world)


@once_jit
def play_twins(task: Task, key: jax.Array) -> tuple[dict[str, jax.Array], View]:
    """Steps of many twins, ``[envs, time]``, with a random learner: what was equal, and both worlds' views.

    Both worlds are rows of one batch, so that there is one step to compile. They are the same until one becomes the
    other's twin.
    """

    def act(key, carry):
        state, view = carry
        k_act, k_step = jax.random.split(key)
        action, _ = UniformRandom().act(k_act, UniformRandom().start(task.slots), view)
        after, timestep, _ = task.step_within(k_step, state, action)
        return (after, timestep.view), (view, after)

    def step(carry, now):
        (state, view), same = carry
        key, begins = now
        other = twin(task, row(state, 1), view.obs.visible[1])
        state = jax.tree.map(lambda old, new: old.at[1].set(jnp.where(begins, new, old[1])), state, other)
        after, (views, states) = jax.vmap(act, (None, 0))(key, (state, view))
        known = jnp.where(view.obs.visible.all(0), state.visits[0] == state.visits[1], True).all()
        same &= equal(views.obs) & known
        found = {"same": same, "view": equal(views), "hidden": equal((states.type_ids, states.world))}
        return (after, same), (found, views)

    def one(key):
        k_start, k_play = jax.random.split(key)
        state, timestep = task.reset(k_start)
        start = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), (state, timestep.view))
        times = jax.random.split(k_play, WARM_UP + STEPS), jnp.arange(WARM_UP + STEPS) == WARM_UP
        return jax.lax.scan(step, (start, jnp.ones((), bool)), times)[1]

    return jax.vmap(one)(jax.random.split(key, ENVS))


@once_jit
def decide_in_both(policy: AbstractPolicy, views: View, key: jax.Array) -> jax.Array:
    """Whether a learner that follows both worlds decides the same in them, for the same reasons, ``[envs, time]``."""

    def step(memories, now):
        key, view = now
        decisions = jax.vmap(policy.decide, (None, 0, 0))(key, memories, view)
        return decisions.memory, equal(decisions)

    def one(key, views):
        blank = policy.start(views.obs.visible.shape[-1])
        start = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), blank)
        return jax.lax.scan(step, start, (jax.random.split(key, WARM_UP + STEPS), views))[1]

    return jax.vmap(one)(jax.random.split(key, ENVS), views)


def row(pair, n: int):
    """One of the two worlds."""
    return jax.tree.map(lambda leaf: leaf[n], pair)


def equal(pair) -> jax.Array:
    """Whether both worlds have the same, bit for bit."""
    return jnp.stack([(leaf[0] == leaf[1]).all() for leaf in jax.tree.leaves(pair)]).all()


@functools.cache
def twins(name: str) -> tuple[dict[str, np.ndarray], View]:
    """The same of a task by name, with teammates that are quick to compile."""
    with jax.debug_key_reuse(False):
        return jax.device_get(play_twins(with_random_teammates(openteam.make(name)), make_key(0)))


@pytest.mark.parametrize("name", PARTIAL)
def test_worlds_that_differ_out_of_sight_look_the_same(name):
    found = {what: value[:, WARM_UP:] for what, value in twins(name)[0].items()}
    same = found["same"]
    assert found["view"][same].all()
    assert (same & ~found["hidden"]).sum() > 50  # the twins did differ out of sight
    assert same[:, 0].all()


def with_random_teammates(task: Task) -> Task:
    """Two types that behave alike: quick to compile."""
    return dataclasses.replace(task, pool=Pool((Uniform(), Uniform(("other",)))), splits={})


# Joint learners are trained where everything is seen; QL-flat reads its view as PPO does.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("dgn", "maddpg", "ippo", "ql-flat")])
def test_every_algorithm_decides_the_same_until_a_difference_shows(name):
    task = openteam.make("lbf-partial")
    found, views = twins(task.name)
    policy = new_policy(tiny(openteam.make_algorithm(name)), task)
    with jax.debug_key_reuse(False):
        decided = np.asarray(decide_in_both(policy, views, make_key(1)))
    assert decided[found["same"]].all()
    assert not decided.all()  # what shows does matter
