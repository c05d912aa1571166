"""What the full state looks like as numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from openteam.worlds.lbf import Foraging
from openteam.worlds.lbf.draw import from_text

WORLD = Foraging(size=4)
FEATURES = eqx.filter_jit(WORLD.features)
GRID = """
    A1 1 . .
    .  . . 2
    b2 . . .
    .  3 . c1"""
NOTHING = [-1, -1, 0]


@pytest.fixture(scope="module")
def state():
    return from_text(GRID, slots=4)


def test_every_agent_is_row_column_level(state):
    agents, _ = FEATURES(state)
    assert agents[:3].tolist() == [[0, 0, 1], [2, 0, 2], [3, 3, 1]]


def test_an_absent_agent_is_a_placeholder(state):
    assert FEATURES(state)[0][3].tolist() == NOTHING


def test_one_who_leaves_becomes_a_placeholder_and_the_others_keep_their_rows(state):
    agents, _ = FEATURES(WORLD.dismiss(state, jnp.array([False, True, False, False])))
    assert agents.tolist() == [[0, 0, 1], NOTHING, [3, 3, 1], NOTHING]


def test_foods_are_row_column_level_in_row_major_order(state):
    assert FEATURES(state)[1].tolist() == [0, 1, 1, 1, 3, 2, 3, 1, 3]


def test_foods_that_are_left_move_up_when_one_is_eaten(state):
    eaten = eqx.tree_at(lambda s: s.food_level, state, jnp.array([0, 2, 3], jnp.int32))
    assert FEATURES(eaten)[1].tolist() == [1, 3, 2, 3, 1, 3, *NOTHING]


def test_with_no_food_left_everything_is_a_placeholder(state):
    eaten = eqx.tree_at(lambda s: s.food_level, state, jnp.zeros(3, jnp.int32))
    assert FEATURES(eaten)[1].tolist() == NOTHING * 3


@pytest.mark.parametrize(("level", "expected"), [([0, 2, 0], [1, 3, 2]), ([0, 0, 3], [3, 1, 3])])
def test_the_only_food_left_comes_first_wherever_it_stood(state, level, expected):
    one = eqx.tree_at(lambda s: s.food_level, state, jnp.array(level, jnp.int32))
    assert FEATURES(one)[1].tolist() == expected + NOTHING * 2


def test_where_an_absent_agent_once_stood_cannot_be_seen(state):
    moved = eqx.tree_at(lambda s: (s.position, s.level), state, (state.position.at[3].set(2), state.level.at[3].set(9)))
    for seen, before in zip(FEATURES(moved), FEATURES(state), strict=True):
        assert (seen == before).all()


def test_numbers_of_features_depend_on_the_world_not_on_the_team():
    for slots in (1, 6):
        present = jnp.ones(slots, bool)
        shapes = jax.eval_shape(lambda p=present: WORLD.features(WORLD.start(jax.random.key(0), p)))
        assert [shape.shape for shape in shapes] == [(slots, 3), (9,)]


def test_agents_are_located_by_their_features(state):
    located = WORLD.locate(WORLD.features(state)[0])
    assert (located == WORLD.positions(state)[0])[state.present].all()
