"""Drawing: what is drawn can be read back, and everything that is there can be seen."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openteam.errors import UserError
from openteam.worlds.grid_drawing import GOLD, LEARNER, TEAMMATES, letters, slot_of
from openteam.worlds.lbf.draw import APPLE, from_text, to_rgb, to_text
from openteam.worlds.lbf.state import ForagingState

GRID = """\
A1 .  .
.  3  b2
.  .  d1"""


def test_a_grid_is_read_as_drawn():
    state = from_text(GRID)
    assert state.present.tolist() == [True, True, False, True]
    assert state.position[jnp.array([0, 1, 3])].tolist() == [[0, 0], [1, 2], [2, 2]]
    assert state.level[jnp.array([0, 1, 3])].tolist() == [1, 2, 1]
    assert state.food_position.tolist() == [[1, 1]]
    assert state.food_level.tolist() == [3]


def test_a_drawing_is_aligned_text():
    assert to_text(from_text(GRID), 3) == GRID


def test_agents_on_one_cell_are_all_drawn():
    assert to_text(from_text("A1c2 . \n . 12"), 2) == "A1c2 .\n.    12"


def test_more_slots_and_foods_than_drawn_are_absent_and_eaten():
    state = from_text(GRID, slots=6, foods=3)
    assert state.present.tolist() == [True, True, False, True, False, False]
    assert state.food_level.tolist() == [3, 0, 0]


def test_absent_agents_and_eaten_foods_are_not_drawn():
    assert to_text(from_text(GRID, slots=6, foods=3), 3) == GRID


@st.composite
def states(draw):
    size, slots, foods = draw(st.integers(1, 6)), draw(st.integers(1, 30)), draw(st.integers(0, 4))
    cells = st.integers(0, size**2 - 1)
    food = draw(st.lists(cells, max_size=min(foods, size**2 - 1), unique=True))
    free = cells.filter(lambda cell: cell not in food)
    levels = st.integers(1, 20)
    agents = [(draw(free), draw(levels)) for _ in range(slots)]
    cell, level = np.array(agents, np.int32).T
    plant = np.array(sorted(food), np.int32)
    weight = np.array([draw(levels) for _ in food], np.int32)
    return size, ForagingState(
        present=jnp.ones(slots, bool),
        position=jnp.asarray(np.stack([cell // size, cell % size], 1)),
        level=jnp.asarray(level),
        food_position=jnp.asarray(np.stack([plant // size, plant % size], 1)),
        food_level=jnp.asarray(weight),
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(states())
def test_a_drawn_state_is_read_back_unchanged(drawn):
    size, state = drawn
    again = from_text(to_text(state, size))
    for name in ("present", "position", "level", "food_position", "food_level"):
        assert np.array_equal(getattr(again, name), getattr(state, name)), name


def test_slots_are_lettered_like_columns_of_a_spreadsheet():
    assert [letters(slot) for slot in (0, 1, 25, 26, 27, 702)] == ["A", "b", "z", "aa", "ab", "aaa"]
    assert [slot_of(letters(slot)) for slot in range(1000)] == list(range(1000))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("A1 . \n .", "as many columns as rows; got rows of"),
        ("A1 ? \n . .", "got '\\?'"),
        ("A0 . \n . .", "got 'A0'"),
        ("A1 0 \n . .", "got '0'"),
        ("A1 A2 \n . .", "got 'A' twice"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(text, sentence):
    with pytest.raises(UserError, match=sentence):
        from_text(text)


@pytest.mark.parametrize(("slots", "foods"), [(2, 1), (4, 0)])
def test_a_grid_with_more_than_there_is_room_for_is_refused(slots, foods):
    with pytest.raises(UserError, match=f"needs 4 slots and 1 foods; got {slots} and {foods}"):
        from_text(GRID, slots=slots, foods=foods)


def colours(picture):
    return {"#{:02x}{:02x}{:02x}".format(*pixel) for pixel in np.unique(picture.reshape(-1, 3), axis=0)}


def test_a_picture_has_one_square_a_cell_and_a_closing_line():
    picture = to_rgb(from_text(GRID), 3, pixels=20)
    assert picture.shape == (61, 61, 3)
    assert picture.dtype == np.uint8


def test_everybody_and_every_food_is_in_the_picture_in_its_own_colour():
    seen = colours(to_rgb(from_text(GRID), 3))
    assert {LEARNER, GOLD, APPLE, TEAMMATES[0], TEAMMATES[2]} <= seen
    assert TEAMMATES[1] not in seen


def test_the_learner_is_drawn_unlike_any_teammate():
    alone = colours(to_rgb(from_text("b1 . \n . 1"), 2))
    assert not {LEARNER, GOLD} & alone


@pytest.mark.parametrize("crowd", [2, 3, 5])
def test_agents_on_one_cell_can_all_be_seen_within_it(crowd):
    together = "".join(f"{letters(slot)}1" for slot in range(crowd))
    picture = to_rgb(from_text(f"{together} . \n . ."), 2)
    assert {LEARNER, *TEAMMATES[: crowd - 1]} <= colours(picture[:49, :49])
    assert len(colours(picture[50:, 50:])) <= 3  # the cell across is empty: paper and lines


def test_a_level_can_be_read_off_the_picture():
    one, two = (to_rgb(from_text(f"A{level} . \n . 1"), 2) for level in (1, 2))
    assert (one != two).any()
    assert (one[50:] == two[50:]).all()


def test_a_missing_pillow_is_told_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UserError, match="pip install 'openteam\\[plots\\]'"):
        to_rgb(from_text(GRID), 3)
