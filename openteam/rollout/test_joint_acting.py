"""Joint training: what every slot sees and knows, and when an agent's game is over.

Chunks come from short foraging games in which agents come and go. Rows of other slots are checked against those of slot
0, and who is new against a list of visits kept in plain Python.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Int, Key

import openteam
from openteam.core import random
from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.sides import Sides
from openteam.core.types import NO_ACTION, View
from openteam.openness import Lifetimes
from openteam.probes import Arrival, Constant, ConstantPolicies, Probe
from openteam.rollout.acting import collect
from openteam.rollout.joint_acting import act_jointly, start_joint_actor
from openteam.task import Task
from openteam.teammates import Foragers, Pool, UniformRandom
from openteam.training.loop import learners_rewards
from openteam.views import Window
from openteam.worlds.lbf import Foraging

ENVS, STEPS, SLOTS = 6, 40, 3
OPENNESS = Lifetimes(cap=3, start_low=2, start_high=3, lifetime=(3, 6), wait=(1, 3))
TASK = Task(Foraging(size=5, foods=2), OPENNESS, Pool((Foragers(),)), horizon=15)


def split_rows(leaf):
    return np.asarray(leaf.reshape(len(leaf), ENVS, SLOTS, *leaf.shape[2:]))


def play(task):
    """A chunk with arrays of shape [time, envs, slots, ...]."""

    def run(key):
        k_start, k_play = jax.random.split(key)
        actor = start_joint_actor(task, UniformRandom(), k_start, ENVS)
        return collect(task, UniformRandom(), actor, k_play, STEPS, act_jointly)[1]

    return jax.tree.map(split_rows, jax.jit(run)(random.key(0)))


@pytest.fixture(scope="module")
def chunk():
    return play(TASK)


@pytest.fixture(scope="module")
def partial_chunk():
    return play(dataclasses.replace(TASK, view=Window(radius=1)))


def swapped(rows, slot):
    """Rows of slot 0's list, with that slot first."""
    order = list(range(SLOTS))
    order[0], order[slot] = order[slot], order[0]
    return rows[..., order, :] if rows.ndim == 4 else rows[..., order]


def arrivals(chunk):
    """Who joined in each step, ``[time, envs, slots]``; nobody does in the step that opens an episode."""
    return chunk.next_timesteps.final_view.starts


@pytest.mark.parametrize("slot", range(SLOTS))
def test_every_slot_sees_the_same_world_with_itself_first(chunk, slot):
    for obs in (chunk.timesteps.view.obs, chunk.next_timesteps.final_view.obs):
        np.testing.assert_array_equal(obs.agents[:, :, slot], swapped(obs.agents[:, :, 0], slot))
        np.testing.assert_array_equal(obs.visible[:, :, slot], swapped(obs.visible[:, :, 0], slot))
        np.testing.assert_array_equal(obs.shared[:, :, slot], obs.shared[:, :, 0])


@pytest.mark.parametrize("slot", range(SLOTS))
def test_the_truth_has_the_viewer_first(chunk, slot):
    truth = chunk.truth
    for rows in (truth.actions, truth.exists, truth.rewards, truth.agents):
        np.testing.assert_array_equal(rows[:, :, slot], swapped(rows[:, :, 0], slot))
    np.testing.assert_array_equal(truth.exists, chunk.timesteps.view.obs.visible)


def test_everybodys_action_is_the_policys_and_nobody_acts_for_the_pool(chunk):
    np.testing.assert_array_equal(chunk.truth.actions[..., 0], chunk.actions)
    assert len(set(chunk.actions[..., 1].ravel().tolist())) == 6


def test_everybody_gets_its_own_reward(chunk):
    reward = chunk.next_timesteps.reward
    np.testing.assert_array_equal(reward, chunk.truth.rewards[..., 0])
    np.testing.assert_array_equal(reward, chunk.truth.rewards[:, :, 0])
    assert (reward > 0).any(axis=(0, 1)).all()


def test_whoever_leaves_expects_nothing_more_and_whoever_stays_goes_on(chunk):
    after = chunk.next_timesteps
    here, there = chunk.truth.exists[..., 0], after.final_view.obs.visible[..., 0]
    stays = here & there & ~arrivals(chunk)
    assert (here & ~stays)[..., 1:].any()
    assert stays[..., 0].all()
    finished = (after.final_view.obs.shared.reshape(STEPS, ENVS, SLOTS, 2, 3)[..., 2] == 0).all(-1)
    np.testing.assert_array_equal(after.discount, stays & ~finished)
    assert finished.any()


def test_a_slot_that_changes_hands_within_a_step_is_a_newcomers(chunk):
    here, there = chunk.truth.exists[..., 0], chunk.next_timesteps.final_view.obs.visible[..., 0]
    changed = here & there & arrivals(chunk)
    assert changed.any()
    assert (chunk.next_timesteps.discount[changed] == 0).all()


def test_a_newcomer_is_new_to_all_who_see_it_and_all_it_sees_are_new_to_it(chunk):
    joins, view = arrivals(chunk), chunk.next_timesteps.final_view
    assert not joins[..., 0].any()
    assert joins.any()
    for slot in range(SLOTS):
        new = (swapped(joins, slot) | joins[..., slot, None]) & view.obs.visible[:, :, slot]
        np.testing.assert_array_equal(view.new[:, :, slot], new)


@pytest.mark.parametrize("which", ["chunk", "partial_chunk"])
def test_new_is_whom_a_viewer_sees_and_did_not_last_see_in_that_slot(which, request):
    chunk = request.getfixturevalue(which)
    joins, ends = arrivals(chunk), chunk.next_timesteps.ends
    late = 0
    for env in range(ENVS):
        visits, last_seen = np.zeros(SLOTS, int), np.full((SLOTS, SLOTS), -1)
        for t in range(STEPS):
            if t and ends[t - 1, env, 0]:
                visits, last_seen = visits + 1, np.full((SLOTS, SLOTS), -1)
            elif t:
                visits = visits + joins[t - 1, env]
                last_seen[joins[t - 1, env]] = -1
            view = jax.tree.map(lambda leaf, at=(t, env): leaf[at], chunk.timesteps.view)
            for slot in range(SLOTS):
                sees = swapped(view.obs.visible[slot], slot)  # in the order of slots
                new = sees & (visits != last_seen[slot])
                np.testing.assert_array_equal(view.new[slot], swapped(new, slot))
                late += (new & ~view.starts[slot] & ~(t > 0 and joins[t - 1, env])).sum()
                last_seen[slot] = np.where(sees, visits, last_seen[slot])
    assert (late > 0) == (which == "partial_chunk")  # met some time after it came


@pytest.mark.parametrize("which", ["chunk", "partial_chunk"])
def test_a_first_view_starts_without_a_previous_action_and_all_others_follow_ones_own(which, request):
    chunk = request.getfixturevalue(which)
    joins, ends = arrivals(chunk), chunk.next_timesteps.ends
    view, final = chunk.next_timesteps.view, chunk.next_timesteps.final_view
    np.testing.assert_array_equal(view.starts, joins | ends)
    np.testing.assert_array_equal(view.previous_action, np.where(joins | ends, NO_ACTION, chunk.actions))
    np.testing.assert_array_equal(final.previous_action, np.where(joins, NO_ACTION, chunk.actions))


def test_episodes_end_for_all_at_once_and_the_true_successor_is_kept(chunk):
    after = chunk.next_timesteps
    assert (after.ends == after.ends[..., :1]).all()
    differs = (after.view.obs.agents != after.final_view.obs.agents).any((-1, -2))
    assert differs[after.ends].any()
    going = ~after.ends
    for one, two in zip(*map(jax.tree.leaves, (after.view, after.final_view)), strict=True):
        np.testing.assert_array_equal(one[going], two[going])


def test_a_mere_time_limit_leaves_something_to_expect(chunk):
    assert (chunk.next_timesteps.ends & (chunk.next_timesteps.discount > 0)).any()


def test_one_side_is_the_learners_and_the_pool_plays_the_other():
    pool = Pool((ConstantPolicies(("always-1",)),))
    task = Task(Probe(Constant(), length=5), Arrival(0), pool, horizon=3)
    act = functools.partial(act_jointly, sides=Sides(2))

    def run(key):
        k_start, k_play = jax.random.split(key)
        return collect(task, UniformRandom(), start_joint_actor(task, UniformRandom(), k_start, 4), k_play, 20, act)[1]

    chunk = jax.jit(run)(random.key(0))
    mine, theirs = np.moveaxis(np.asarray(chunk.actions).reshape(20, 4, 2), -1, 0)
    assert (theirs == 1).all()
    assert 0.2 < mine.mean() < 0.8
    np.testing.assert_array_equal(np.asarray(chunk.truth.actions).reshape(20, 4, 2, 2)[:, :, 0, 1], theirs)
    dgn = openteam.DGN(envs=4, sides=Sides(2))
    rewards, _ = learners_rewards(chunk, dgn)
    np.testing.assert_array_equal(rewards, chunk.next_timesteps.reward.reshape(20, 4, 2)[..., 0])


class Numbered(AbstractMemoryless):
    """Every slot has a policy of its own, which always takes the action with the slot's number."""

    number: Int[Array, ""]

    def in_slot(self, slot: Int[Array, ""]) -> "Numbered":
        return Numbered(slot)

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        del key, view
        return Decision(self.number, memory, Explanation())


def test_a_policy_that_has_networks_of_its_own_for_slots_acts_with_them():
    task = Task(Probe(Constant(), length=5), Arrival(0), Pool((ConstantPolicies(),)), horizon=3)
    policy = Numbered(jnp.asarray(7))

    @jax.jit
    def act(key):
        k_start, k_act = jax.random.split(key)
        actor = start_joint_actor(task, policy, k_start, 3)
        return act_jointly(task, policy, actor, jax.random.split(k_act, (3, 2)))[1]

    assert act(random.key(0)).tolist() == [0, 1] * 3
