"""Joint training: what every slot is told, and when an agent's game is over.

Chunks come from short foraging games in which agents come and go. What a slot is told is checked against what slot 0
is told.
"""

import jax
import numpy as np
import pytest

from openteam.core import random
from openteam.openness import Lifetimes
from openteam.rollout.acting import collect
from openteam.rollout.joint_acting import act_together, start_joint_actor
from openteam.task import Task
from openteam.teammates import Foragers, Pool, UniformRandom
from openteam.worlds.lbf import Foraging

ENVS, STEPS, SLOTS = 6, 40, 3
OPENNESS = Lifetimes(cap=3, start_low=2, start_high=3, lifetime=(3, 6), wait=(1, 3))
TASK = Task(Foraging(size=5, foods=2), OPENNESS, Pool((Foragers(),)), horizon=15)


def split_rows(leaf):
    return np.asarray(leaf.reshape(len(leaf), ENVS, SLOTS, *leaf.shape[2:]))


@pytest.fixture(scope="module")
def played():
    """The last states, and a chunk whose leaves have the shape [time, envs, slots, ...]."""

    def play(key):
        k_start, k_play = jax.random.split(key)
        actor = start_joint_actor(TASK, UniformRandom(), k_start, ENVS)
        return collect(TASK, UniformRandom(), actor, k_play, STEPS, act_together)

    actor, rows = jax.jit(play)(random.key(0))
    return actor.env, jax.tree.map(split_rows, rows)


@pytest.fixture(scope="module")
def chunk(played):
    return played[1]


def acted(chunk):
    return jax.tree.map(lambda leaf: leaf[:-1], chunk.timesteps)


def led(chunk):
    return jax.tree.map(lambda leaf: leaf[1:], chunk.timesteps)


def swapped(rows, slot):
    """Rows of slot 0's list, with that slot first."""
    order = list(range(SLOTS))
    order[0], order[slot] = order[slot], order[0]
    return rows[..., order, :] if rows.ndim == 4 else rows[..., order]


@pytest.mark.parametrize("slot", range(SLOTS))
def test_every_slot_sees_the_same_world_with_itself_first(chunk, slot):
    for obs in (acted(chunk).obs, led(chunk).final_obs):
        np.testing.assert_array_equal(obs.agents[:, :, slot], swapped(obs.agents[:, :, 0], slot))
        np.testing.assert_array_equal(obs.visible[:, :, slot], swapped(obs.visible[:, :, 0], slot))
        np.testing.assert_array_equal(obs.shared[:, :, slot], obs.shared[:, :, 0])


@pytest.mark.parametrize("slot", range(SLOTS))
def test_the_truth_is_told_with_the_viewer_first(chunk, slot):
    truth = chunk.truth
    for rows in (truth.actions, truth.exists, truth.rewards, truth.agents):
        np.testing.assert_array_equal(rows[:, :, slot], swapped(rows[:, :, 0], slot))
    np.testing.assert_array_equal(truth.exists, acted(chunk).obs.visible)


def test_everybodys_action_is_the_policys(chunk):
    np.testing.assert_array_equal(chunk.truth.actions[..., 0], chunk.actions)
    assert len(set(chunk.actions[..., 1].ravel().tolist())) == 6


def test_everybody_gets_its_own_reward(chunk):
    np.testing.assert_array_equal(led(chunk).reward, chunk.truth.rewards[..., 0])
    np.testing.assert_array_equal(led(chunk).reward, chunk.truth.rewards[:, :, 0])
    assert (led(chunk).reward > 0).any(axis=(0, 1)).all()


def test_whoever_leaves_expects_nothing_more_and_whoever_stays_goes_on(chunk):
    here, after, joined = chunk.truth.exists[..., 0], led(chunk).final_obs.visible[..., 0], led(chunk).joined
    newcomer = joined.all(-1)
    stays = here & after & ~newcomer
    assert (here & ~stays)[..., 1:].any()
    assert stays[..., 0].all()
    finished = (led(chunk).final_obs.shared.reshape(STEPS, ENVS, SLOTS, 2, 3)[..., 2] == 0).all(-1)
    np.testing.assert_array_equal(led(chunk).discount, stays & ~finished)
    assert finished.any()


def test_a_slot_that_changes_hands_within_a_step_is_a_newcomers(chunk):
    here, after = chunk.truth.exists[..., 0], led(chunk).final_obs.visible[..., 0]
    changed = here & after & led(chunk).joined.all(-1)
    assert changed.any()
    assert (led(chunk).discount[changed] == 0).all()


def test_a_newcomer_is_new_to_all_and_all_are_new_to_it(chunk):
    joined = led(chunk).joined
    new = joined[:, :, 0]  # slot 0 never changes hands, so its row names the newcomers
    assert not new[..., 0].any()
    assert new.any()
    for slot in range(SLOTS):
        np.testing.assert_array_equal(joined[:, :, slot], swapped(new, slot) | new[..., slot, None])


def test_episodes_start_and_end_for_all_at_once_and_the_true_successor_is_kept(chunk):
    ends = led(chunk).ends
    assert (ends == ends[..., :1]).all()
    np.testing.assert_array_equal(led(chunk).starts, ends)
    differs = (led(chunk).obs.agents != led(chunk).final_obs.agents).any((-1, -2))
    assert differs[ends].any()
    assert not differs[~ends].any()


def test_a_mere_time_limit_leaves_something_to_expect(chunk):
    limit = led(chunk).ends & (led(chunk).discount > 0)
    assert limit.any()


def test_nobody_of_the_pool_plays_but_puppets_who_remember_what_they_were_told(played):
    env, chunk = played
    assert (env.types == 0).all()
    going = ~led(chunk).ends[-1, :, 0]
    (told,) = env.memory
    np.testing.assert_array_equal(told[going], chunk.actions[-1][going])
