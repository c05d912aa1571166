"""Drawing: what is drawn can be read back, and everything that is there can be seen."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openteam.errors import UserError
from openteam.worlds.grid_drawing import GOLD, LEARNER, TEAMMATES
from openteam.worlds.navigation import Navigation, NavigationState
from openteam.worlds.navigation.draw import TARGET, from_text, to_rgb, to_text

GRID = """\
A+d .   *
.   .   .
.   .   b*"""


def test_a_grid_is_read_as_drawn():
    state = from_text(GRID)
    assert state.present.tolist() == [True, True, False, True]
    assert state.position[jnp.array([0, 1, 3])].tolist() == [[0, 0], [2, 2], [0, 0]]
    assert state.destination.tolist() == [[0, 2], [2, 2]]


def test_a_drawing_is_aligned_text_without_the_absent():
    assert to_text(from_text(GRID, slots=6), 3) == GRID
    assert Navigation(size=3).text(from_text(GRID)) == GRID


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 8), min_size=1, max_size=30), st.sets(st.integers(0, 8), min_size=2, max_size=2))
def test_a_drawn_state_is_read_back_unchanged(agents, destinations):
    cells = np.array(np.divmod(agents, 3), np.int32).T
    targets = np.array(np.divmod(sorted(destinations), 3), np.int32).T
    state = NavigationState(jnp.ones(len(agents), bool), jnp.asarray(cells), jnp.asarray(targets))
    again = from_text(to_text(state, 3))
    for name in ("present", "position", "destination"):
        assert np.array_equal(getattr(again, name), getattr(state, name)), name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("A * \n *", "as many columns as rows; got rows of"),
        ("A1 * \n * .", "got 'A1'"),
        ("A * \n * A", "got 'A' twice"),
        ("A * \n . .", "has 1 destinations"),
        ("A * \n * c", "needs 3 slots and has 2 destinations; got 2 slots"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(text, sentence):
    with pytest.raises(UserError, match=sentence):
        from_text(text, slots=2)


def colours(picture):
    return {"#{:02x}{:02x}{:02x}".format(*pixel) for pixel in np.unique(picture.reshape(-1, 3), axis=0)}


def test_everybody_and_every_destination_is_in_the_picture_in_its_own_colour():
    picture = Navigation(size=3).rgb(from_text(GRID))
    assert picture.shape == (121, 121, 3)
    assert {LEARNER, GOLD, TEAMMATES[0], TEAMMATES[2], TARGET} <= colours(picture)
    assert TEAMMATES[1] not in colours(picture)


def test_a_destination_shows_around_the_agent_that_stands_on_it():
    corner = to_rgb(from_text(GRID), 3)[81:, 81:]
    assert {TARGET, TEAMMATES[0]} <= colours(corner)
