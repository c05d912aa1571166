"""What the full state looks like as numbers, and what is left of it when a view hides or moves things."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from openteam.core.world import Drawable, GridWorld
from openteam.worlds.wolfpack import Wolfpack
from openteam.worlds.wolfpack.draw import from_text

WORLD = Wolfpack(size=4)
FEATURES = eqx.filter_jit(WORLD.features)


@pytest.fixture
def state():
    return from_text("A . . . \n . > . b \n . . . . \n . v! d .")


def test_every_hunter_is_row_and_column_and_an_absent_one_a_placeholder(state):
    assert FEATURES(state)[0].tolist() == [[0, 0], [1, 3], [-1, -1], [3, 2]]


def test_prey_are_their_cells_and_then_where_they_face_a_captured_one_too(state):
    assert FEATURES(state)[1].tolist() == [1, 1, 3, 1, *(0, 1, 0, 0), *(0, 0, 1, 0)]


def test_a_view_may_hide_hunters_and_prey(state):
    blind = WORLD.hide(state, jnp.array([False, True, False, False]), jnp.array([True, False]))
    agents, shared = FEATURES(blind)
    assert agents.tolist() == [[0, 0], [-1, -1], [-1, -1], [3, 2]]
    assert shared.tolist() == [-1, -1, 3, 1, *(0, 0, 0, 0), *(0, 0, 1, 0)]


def test_a_view_may_show_everybody_elsewhere(state):
    agents, objects = WORLD.positions(state)
    assert objects.tolist() == [[1, 1], [3, 1]]
    moved = WORLD.relocate(state, agents + 1, objects - 1)
    assert WORLD.positions(moved)[0].tolist() == (agents + 1).tolist()
    assert FEATURES(moved)[1][:4].tolist() == [0, 0, 2, 0]


def test_it_can_be_seen_in_part_and_drawn():
    assert isinstance(WORLD, GridWorld)
    assert isinstance(WORLD, Drawable)


def test_legal_are_exactly_the_moves_that_stay_on_the_grid(state):
    legal = eqx.filter_jit(WORLD.legal)(state)
    assert legal[0].tolist() == [False, True, True, False, True]
    assert legal[1].tolist() == [True, False, True, True, True]
    assert legal[3].tolist() == [True, True, False, True, True]


def test_numbers_of_features_depend_on_the_world_not_on_the_team():
    for slots in (1, 6):
        present = jnp.ones(slots, bool)
        shapes = jax.eval_shape(lambda p=present: WORLD.features(WORLD.start(jax.random.key(0), p)))
        assert [shape.shape for shape in shapes] == [(slots, 2), (12,)]


def test_agents_are_located_by_their_features(state):
    located = WORLD.locate(WORLD.features(state)[0])
    assert (located == WORLD.positions(state)[0])[state.present].all()
