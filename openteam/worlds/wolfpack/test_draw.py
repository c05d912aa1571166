"""Drawing: what is drawn can be read back, and everything that is there can be seen."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.errors import UserError
from openteam.worlds.grid_drawing import GOLD, LEARNER, TEAMMATES
from openteam.worlds.wolfpack.draw import BELLY, CAUGHT, FUR, from_text, to_rgb, to_text

GRID = """\
A  .  >
.  v! b
d  .  ."""


def test_a_grid_is_read_as_drawn():
    state = from_text(GRID, slots=5)
    assert state.present.tolist() == [True, True, False, True, False]
    assert state.position[jnp.array([0, 1, 3])].tolist() == [[0, 0], [1, 2], [2, 0]]
    assert state.prey_position.tolist() == [[0, 2], [1, 1]]
    assert state.facing.tolist() == [1, 2]
    assert state.captured.tolist() == [False, True]
    assert state.shown.all()


def test_a_drawing_is_aligned_text_that_is_read_back():
    assert to_text(from_text(GRID), 3) == GRID


def test_absent_hunters_and_hidden_prey_are_not_drawn():
    state = from_text(GRID)
    gone = eqx.tree_at(
        lambda s: (s.present, s.shown), state, (state.present.at[1].set(False), jnp.array([False, True]))
    )
    assert to_text(gone, 3) == "A  .  .\n.  v! .\nd  .  ."
    assert FUR not in colours(to_rgb(gone, 3))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("A . \n .", "as many columns as rows; got rows of"),
        ("A ? \n . ^", "got '\\?'"),
        ("A A \n . ^", "got 'A' twice"),
        ("A . \n . .", "at least one prey"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(text, sentence):
    with pytest.raises(UserError, match=sentence):
        from_text(text)


def test_a_grid_with_more_than_there_is_room_for_is_refused():
    with pytest.raises(UserError, match="needs 4 slots; got 2"):
        from_text(GRID, slots=2)


def colours(picture):
    return {"#{:02x}{:02x}{:02x}".format(*pixel) for pixel in np.unique(picture.reshape(-1, 3), axis=0)}


def test_everybody_is_in_the_picture_in_its_own_colour():
    picture = to_rgb(from_text(GRID), 3, pixels=40)
    assert picture.shape == (121, 121, 3)
    assert {LEARNER, GOLD, TEAMMATES[0], TEAMMATES[2], FUR, CAUGHT, BELLY} <= colours(picture)
    assert TEAMMATES[1] not in colours(picture)


def test_where_a_prey_faces_can_be_seen():
    up, right, down, left = (to_rgb(from_text(f". . . \n . {arrow} . \n . . ."), 3)[41:80, 41:80] for arrow in "^>v<")
    fur = [(picture == [0xC8, 0x80, 0x3C]).all(-1) for picture in (up, right, down, left)]
    assert fur[0][:8].sum() > fur[0][-8:].sum()
    for turned, quarter in zip(fur[1:], (3, 2, 1), strict=True):
        assert (np.rot90(fur[0], quarter) != turned).mean() < 0.05
