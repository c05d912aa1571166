"""What the full state looks like as numbers, and what hiding leaves of it."""

import jax
import jax.numpy as jnp
import pytest

from openteam.worlds.navigation import Navigation
from openteam.worlds.navigation.draw import from_text

WORLD = Navigation(size=6)
GRID = "A . . . . . \n . . . * . . \n . . . . . . \n b . . . . . \n . * . . . . \n . . . . . c"
NOTHING = [-1, -1]


@pytest.fixture(scope="module")
def state():
    return from_text(GRID, slots=4)


def test_every_agent_is_row_and_column_and_an_absent_one_a_placeholder(state):
    assert WORLD.features(state)[0].tolist() == [[0, 0], [3, 0], [5, 5], NOTHING]


def test_destinations_are_row_and_column_in_row_major_order(state):
    assert WORLD.features(state)[1].tolist() == [1, 3, 4, 1]


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [((True, False), [4, 1, -1, -1]), ((False, True), [1, 3, -1, -1]), ((True, True), NOTHING * 2)],
)
def test_a_destination_that_shows_comes_first(state, hidden, expected):
    shown = WORLD.hide(state, jnp.zeros(4, bool), jnp.array(hidden))
    assert WORLD.features(shown)[1].tolist() == expected


def test_a_hidden_agent_looks_absent(state):
    shown = WORLD.hide(state, jnp.array([False, True, False, False]), jnp.zeros(2, bool))
    assert WORLD.features(shown)[0].tolist() == [[0, 0], NOTHING, [5, 5], NOTHING]
    assert shown.present.tolist() == [True, False, True, False]


def test_relocating_to_its_own_places_changes_nothing_and_to_others_only_them(state):
    same = WORLD.relocate(state, *WORLD.positions(state))
    assert all((a == b).all() for a, b in zip(jax.tree.leaves(same), jax.tree.leaves(state), strict=True))
    agents, objects = WORLD.positions(state)
    moved = WORLD.relocate(state, agents + 1, objects + 2)
    assert WORLD.features(moved)[0].tolist() == [[1, 1], [4, 1], [6, 6], NOTHING]
    assert WORLD.features(moved)[1].tolist() == [3, 5, 6, 3]


def test_agents_are_located_by_their_features(state):
    located = WORLD.locate(WORLD.features(state)[0])
    assert (located == WORLD.positions(state)[0])[state.present].all()
