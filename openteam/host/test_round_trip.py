"""A compiled task behind PettingZoo's interface, brought back in: the same trajectories and the same updates."""

import dataclasses
import itertools

import equinox as eqx
import jax
import numpy as np
import pytest

import openteam
from openteam.core.random import key as make_key
from openteam.host.task import HostTask
from openteam.training.host_program import HostProgram
from openteam.training.program import COLLECT, START, Program
from openteam.training.settings import Settings
from openteam.training.spec import RunSpec

ENVS, UPDATE_EVERY, UPDATES, SEED = 3, 4, 6, 5
COUNTER = itertools.count()


def foraging():
    """LBF with episodes and visits so short that everything happens within a few steps."""
    openness = openteam.Lifetimes(cap=4, teammates=5, start_low=1, start_high=3, lifetime=(1, 3), wait=(1, 3))
    task = openteam.make("lbf")
    world, pool = openteam.Foraging(size=5, foods=2), openteam.Pool((openteam.Uniform(),))  # quick to compile
    return dataclasses.replace(task, openness=openness, horizon=5, splits={}, world=world, pool=pool)


TASK = foraging()
RESET, STEP = eqx.filter_jit(TASK.reset), eqx.filter_jit(TASK.step_within)


@jax.jit
def keys_of_step(updates, step, env):
    root = jax.random.fold_in(jax.random.fold_in(make_key(SEED), COLLECT), updates)
    return jax.random.split(jax.random.split(root, (UPDATE_EVERY, ENVS, 2))[step, env, 1])


class Exported:
    """The number-th environment of a run, with the keys that the compiled run has for it; teammates act inside."""

    def __init__(self):
        self.number, self.time = next(COUNTER), 0
        k_actor = jax.random.split(jax.random.fold_in(make_key(SEED), START))[1]
        self.k_reset = jax.random.split(k_actor, ENVS)[self.number % ENVS]

    def reset(self, seed=None, options=None):
        self.state, self.now = RESET(jax.random.clone(self.k_reset))
        self.look()
        return {one: self.slot(one) for one in self.agents}, {}

    def look(self):
        present, visits = np.asarray(self.state.world.present), np.asarray(self.state.visits)
        self.agents = [self.id(slot, visits[slot]) for slot in np.flatnonzero(present)]
        self.rows, self.u = (np.asarray(part) for part in TASK.world.features(self.state.world))
        self.legal = np.asarray(self.now.view.obs.legal)

    def id(self, slot, visit):
        return "me" if slot == 0 else f"{slot}-{visit}"

    def slot(self, one):
        return 0 if one == "me" else int(one.partition("-")[0])

    def action_space(self, one):
        return TASK.world.actions

    def step(self, actions):
        k_step, self.k_reset = keys_of_step(self.time // UPDATE_EVERY, self.time % UPDATE_EVERY, self.number % ENVS)
        self.time += 1
        before = self.agents
        self.state, self.now, truth = STEP(k_step, self.state, np.int32(actions["me"]))
        self.look()
        self.took = np.asarray(truth.actions)
        over, ends = float(self.now.discount) == 0, bool(self.now.ends)
        rewards = {one: float(truth.rewards[self.slot(one)]) for one in before}
        observations = {one: self.slot(one) for one in self.agents}
        infos = {"me": {"action_mask": self.legal}}
        if ends:
            self.agents = []
        cut = {one: (ends and not over) or one not in observations for one in {**rewards, **observations}}
        return observations, rewards, dict.fromkeys(cut, over), cut, infos


def features(env, observations, one):
    return env.rows[env.slot(one)]


def shared(env, observations):
    return env.u


def taken(env, one):
    return env.took[env.slot(one)]


@pytest.fixture(scope="module")
def both():
    """After every update: where the compiled run is, and where the one around plain Python is."""
    me = __name__
    learner = openteam.GPL(envs=ENVS, update_every=UPDATE_EVERY, encoder_width=4, hidden=4, type_size=3)
    names = {name: f"{me}:{name}" for name in ("features", "shared", "taken")}
    host = HostTask(f"{me}:Exported", "me", cap=4, processes=1, **names)
    assert host.spec == dataclasses.replace(TASK.spec, time_limit_terminates=False)
    global COUNTER
    COUNTER = itertools.count()
    settings = Settings(ENVS * UPDATE_EVERY * UPDATES)
    programs = [
        Program([RunSpec(TASK, learner, settings, SEED)]),
        HostProgram([RunSpec(host, learner, settings, SEED)]),
    ]
    histories = []
    for program in programs:
        carry = program.start()
        history = [(carry, {})]
        for _ in range(UPDATES):
            carry, sums = program.advance(carry, 1)
            history.append((carry, sums))
        program.close()
        histories.append(history)
    return list(zip(*histories, strict=True))


def test_trajectories_are_equal_bit_for_bit(both):
    ended = arrived = 0
    for (ours, _), (theirs, _) in both:
        one, other = ours.actor.timestep, theirs.actor.timestep
        goes_on = np.asarray(one.discount) > 0  # where it is over, nobody reads the final view
        ends = [jax.tree.map(lambda leaf, kept=goes_on: leaf[kept], side.final_view) for side in (one, other)]
        for a, b in ((one.view, other.view), ends):
            np.testing.assert_array_equal(a.obs.visible, b.obs.visible)
            seen = np.asarray(a.obs.visible)
            np.testing.assert_array_equal(np.asarray(a.obs.agents)[seen], np.asarray(b.obs.agents)[seen])
            np.testing.assert_array_equal(a.obs.shared, b.obs.shared)
            np.testing.assert_array_equal(a.starts, b.starts)
            np.testing.assert_array_equal(a.new, b.new)
            np.testing.assert_array_equal(a.previous_action, b.previous_action)
        for name in ("reward", "discount", "ends"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        ended, arrived = ended + int(one.ends.sum()), arrived + int((one.view.new & ~one.view.starts[:, None]).sum())
    assert ended > 0
    assert arrived > 0


def test_updates_are_equal_up_to_the_rounding_of_another_program(both):
    """The update is compiled alone instead of with the world, so sums are taken in another order."""
    for (ours, sums), (theirs, others) in both:
        for a, b in zip(jax.tree.leaves(ours.train), jax.tree.leaves(theirs.train), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        for name in sums:
            np.testing.assert_allclose(sums[name], others[name], rtol=1e-5, atol=1e-6)
