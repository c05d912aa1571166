"""What must hold however everybody plays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.lbf import Foraging
from openteam.worlds.lbf.draw import from_text
from openteam.worlds.lbf.state import LOAD

OPEN = Foraging(size=6)
SLOTS, STEPS, ENVS = 4, 60, 512
OPENING = """
    .  .  .  c1 .  .
    A1 1  .  .  .  .
    .  .  .  .  2  .
    .  .  .  .  .  .
    .  3  .  .  .  .
    .  b2 .  .  .  ."""


def turn(state, key):
    """Everybody acts at random, then some leave and some come: all that can be seen of it."""
    k_action, k_open, k_world, k_admit = jax.random.split(key, 4)
    u = jax.random.uniform(k_action, (SLOTS,))
    actions = jnp.where(u < 0.4, LOAD, jnp.floor((u - 0.4) / 0.6 * 5).astype(jnp.int32))
    after, reward, over = OPEN.step(k_world, state, actions)
    events = (jax.random.uniform(k_open, (SLOTS,)) < 0.1).at[0].set(False)
    joining = events & ~after.present
    opened = OPEN.admit(k_admit, OPEN.dismiss(after, events & after.present), joining)
    return opened, (state, actions, after, reward, over, joining, opened, OPEN.legal(state))


@jax.jit
def open_play(key):
    state = from_text(OPENING, slots=SLOTS)
    start = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (ENVS, *leaf.shape)), state)
    return jax.lax.scan(jax.vmap(turn), start, jax.random.split(key, (STEPS, ENVS)))[1]


@pytest.fixture(scope="module")
def played():
    return jax.tree.map(np.asarray, open_play(jax.random.key(7)))


def beside(state):
    gap = np.abs(state.position[..., :, None, :] - state.food_position[..., None, :, :]).sum(-1)
    return (gap == 1) & state.present[..., :, None]


def test_nobody_is_ever_outside(played):
    for state in (played[2], played[6]):
        assert (state.position >= 0).all()
        assert (state.position < OPEN.size).all()


def test_nobody_ever_stands_on_food(played):
    for state in (played[2], played[6]):
        same = (state.position[..., :, None, :] == state.food_position[..., None, :, :]).all(-1)
        assert not (same & state.present[..., :, None] & (state.food_level[..., None, :] > 0)).any()


def test_nobody_moves_more_than_one_cell_and_only_where_it_wanted(played):
    before, actions, after = played[:3]
    gap = after.position - before.position
    wanted = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1], [0, 0]])[actions]
    moved = gap.any(-1)
    assert (gap[moved] == wanted[moved]).all()
    assert moved.mean() > 0.2


def test_a_newcomer_arrives_on_a_cell_of_its_own(played):
    _, _, after, _, _, joining, opened, _ = played
    same = (opened.position[..., :, None, :] == opened.position[..., None, :, :]).all(-1)
    others = same & opened.present[..., None, :] & ~np.eye(SLOTS, dtype=bool)
    assert joining.sum() > 1000
    assert not (others & joining[..., None]).any()
    assert (opened.position == after.position)[~joining].all()


def test_levels_of_those_who_stay_never_change(played):
    before, _, after, _, _, joining, opened, _ = played
    assert (after.level == before.level).all()
    assert (opened.level == after.level)[~joining].all()


def test_eaten_food_never_returns_and_the_rest_keeps_its_level_and_cell(played):
    before, _, after, _, _, _, opened, _ = played
    assert ((after.food_level == before.food_level) | (after.food_level == 0)).all()
    assert (opened.food_level == after.food_level).all()
    assert (opened.food_position == before.food_position).all()


def test_food_is_eaten_exactly_when_those_who_load_are_strong_enough(played):
    before, actions, after = played[:3]
    helping = beside(before) & (actions == LOAD)[..., None]
    strength = (helping * before.level[..., None]).sum(-2)
    there = before.food_level > 0
    eaten = there & (after.food_level == 0)
    assert eaten.sum() > 300
    assert (eaten == (there & (strength >= before.food_level))).all()


def test_every_reward_is_the_level_of_the_food_that_was_helped(played):
    before, actions, after, reward = played[:4]
    eaten = (before.food_level > 0) & (after.food_level == 0)
    helped = beside(before) & (actions == LOAD)[..., None] & eaten[..., None, :]
    assert (reward == (helped * before.food_level[..., None, :]).sum(-1)).all()


def test_the_task_is_over_exactly_when_nothing_is_left(played):
    after, over = played[2], played[4]
    assert (over == (after.food_level == 0).all(-1)).all()
    assert over.any()


def test_an_illegal_action_never_does_anything(played):
    before, actions, after, reward, *_, legal = played
    illegal = ~np.take_along_axis(legal, actions[..., None], -1)[..., 0]
    assert illegal.any()
    assert (after.position == before.position)[illegal].all()
    assert (reward == 0)[illegal].all()


def test_only_coming_and_going_change_who_is_present(played):
    before, _, after, _, _, joining, opened, _ = played
    assert (after.present == before.present).all()
    assert opened.present[joining].all()
    assert opened.present[..., 0].all()
