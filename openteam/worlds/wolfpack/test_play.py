"""What must hold however everybody plays."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openteam.testing import check_world
from openteam.worlds.wolfpack import RandomPrey, Wolfpack
from openteam.worlds.wolfpack.rules import move
from openteam.worlds.wolfpack.test_rules import SLOTS


def restated(cells, targets):
    """Send back all who aim at one cell, again and again, as the rule says."""
    targets = list(targets)
    while True:
        clash = [i for i, target in enumerate(targets) if targets.count(target) > 1]
        if not clash:
            return targets
        for i in clash:
            targets[i] = cells[i]


BODIES = 7
MOVE = jax.jit(partial(move, size=4))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.permutations(range(16)), st.lists(st.integers(0, 4), min_size=BODIES, max_size=BODIES), st.integers(1, BODIES)
)
def test_moves_are_settled_as_if_clashes_were_sent_back_again_and_again(cells, directions, count):
    cells = [divmod(cell, 4) for cell in cells[:BODIES]]
    there = np.arange(BODIES) < count
    found = MOVE(jnp.array(cells), jnp.array(directions), jnp.asarray(there))
    deltas = [(-1, 0), (0, 1), (1, 0), (0, -1), (0, 0)]
    targets = []
    for (row, column), direction in zip(cells, directions, strict=True):
        target = (row + deltas[direction][0], column + deltas[direction][1])
        targets.append(target if all(0 <= each < 4 for each in target) else (row, column))
    assert [tuple(cell) for cell in found[:count].tolist()] == restated(cells[:count], targets[:count])


def test_wolfpack_keeps_the_contract():
    check_world(Wolfpack(size=5, behaviour=RandomPrey(), shaping=0.01), slots=(4,), steps=800)


OPEN = Wolfpack(size=5, behaviour=RandomPrey())
ENVS, STEPS = 256, 60


def turn(state, key):
    """Everybody acts at random, then some leave and some come: all that can be seen of it."""
    k_action, k_open, k_world, k_admit = jax.random.split(key, 4)
    actions = jax.random.randint(k_action, (SLOTS,), 0, 5)
    after, reward, over = OPEN.step(k_world, state, actions)
    events = (jax.random.uniform(k_open, (SLOTS,)) < 0.1).at[0].set(False)
    joining = events & ~after.present
    opened = OPEN.admit(k_admit, OPEN.dismiss(after, events & after.present), joining)
    return opened, (state, actions, after, reward, over, joining, opened)


@jax.jit
def open_play(key):
    k_start, k_play = jax.random.split(key)
    start = jax.vmap(OPEN.start, (0, None))(jax.random.split(k_start, ENVS), jnp.array([True, True, True, False]))
    return jax.lax.scan(jax.vmap(turn), start, jax.random.split(k_play, (STEPS, ENVS)))[1]


@pytest.fixture(scope="module")
def played():
    return jax.tree.map(np.asarray, open_play(jax.random.key(7)))


def bodies(state):
    where = np.concatenate([state.position, state.prey_position], -2)
    there = np.concatenate([state.present, np.ones_like(state.captured)], -1)
    return where, there


def test_nobody_is_ever_outside(played):
    for state in (played[2], played[6]):
        where, there = bodies(state)
        assert where[there].min() == 0
        assert where[there].max() == OPEN.size - 1


def test_nobody_is_ever_where_another_is(played):
    for state in (played[2], played[6]):
        where, there = bodies(state)
        cell = np.where(there, where[..., 0] * OPEN.size + where[..., 1], -1 - np.arange(there.shape[-1]))
        assert (np.diff(np.sort(cell, -1), axis=-1) > 0).all()


def test_nobody_moves_more_than_one_cell_and_only_where_it_wanted(played):
    before, actions, after = played[:3]
    gap = after.position - before.position
    wanted = np.array([[-1, 0], [0, 1], [1, 0], [0, -1], [0, 0]])[actions]
    moved = gap.any(-1)
    assert (gap[moved] == wanted[moved]).all()
    assert moved.mean() > 0.2
    steps = np.abs(after.prey_position - before.prey_position).sum(-1)
    assert steps[~before.captured].max() == 1
    assert steps[before.captured].max() > 3


def beside(state):
    gap = np.abs(state.position[..., :, None, :] - state.prey_position[..., None, :, :]).sum(-1)
    return (gap == 1) & state.present[..., :, None]


def test_a_prey_is_captured_exactly_when_two_hunters_are_beside_it(played):
    after = played[2]
    assert (after.captured == (beside(after).sum(-2) >= 2)).all()
    assert after.captured.sum() > 500


def test_every_reward_follows_from_who_is_beside_which_prey(played):
    after, reward = played[2:4]
    count = beside(after).sum(-2, keepdims=True)
    assert np.allclose(reward, (beside(after) * np.where(count >= 2, 2 * count, -0.5)).sum(-1))


def test_coming_and_going_touches_nobody_else(played):
    _, _, after, _, _, joining, opened = played
    assert joining.sum() > 500
    assert (opened.position == after.position)[~joining].all()
    assert (opened.prey_position == after.prey_position).all()
    assert (opened.captured == after.captured).all()


def test_it_is_never_over(played):
    assert not played[4].any()
