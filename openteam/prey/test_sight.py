"""What a prey sees: drawn by hand, and alike however the grid is turned and the hunters are numbered."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.prey.sight import prey_legal, prey_observations, prey_rows
from openteam.worlds.wolfpack import PREY_ACTION_NAMES
from openteam.worlds.wolfpack.draw import from_text, to_text
from openteam.worlds.wolfpack.state import WolfpackState

SIZE, SLOTS = 5, 6
ROWS = jax.jit(lambda state: prey_rows(state, SIZE))
GRID = """
    . . . . .
    . ^ . A .
    . . . . .
    c . . . .
    . . . b <"""


def numbers(rows):
    return np.asarray(rows, float).round(4).tolist()


def rows(text):
    return numbers(ROWS(from_text(text, slots=SLOTS)))


def test_a_prey_sees_walls_then_hunters_nearest_first_then_the_other_prey():
    # A is 2 to the right, c 2 behind and 1 left, b 3 behind and 2 right; ahead, right, 1 / distance.
    first, second = rows(GRID)
    assert first == [1, 3, 3, 1, *(0, 2, 0.5), *(-2, -1, 0.3333), *(-3, 2, 0.2), *(0, 0, 0), *(-3, 3, 0.1667)]
    # The second faces left: b is 1 ahead, A 1 ahead and 3 right, c 4 ahead and 1 right.
    assert second == [4, 4, 0, 0, *(1, 0, 1), *(1, 3, 0.25), *(4, 1, 0.2), *(0, 0, 0), *(3, 3, 0.1667)]


def turned(state):
    """The grid after a quarter turn clockwise."""

    def turn(position):
        return jnp.stack([position[:, 1], SIZE - 1 - position[:, 0]], 1)

    return eqx.tree_at(
        lambda s: (s.position, s.prey_position, s.facing),
        state,
        (turn(state.position), turn(state.prey_position), (state.facing + 1) % 4),
    )


def test_nothing_changes_when_the_grid_is_turned_with_everybody_on_it():
    state = from_text(GRID, slots=SLOTS)
    assert to_text(turned(state), SIZE) != to_text(state, SIZE)
    for _ in range(4):
        state = turned(state)
        assert numbers(ROWS(state)) == rows(GRID)


def test_nothing_changes_when_hunters_change_slots_or_absent_ones_are_elsewhere():
    assert rows(GRID.replace("A", "e").replace("b", "A")) == rows(GRID)
    state = from_text(GRID, slots=SLOTS)
    moved = eqx.tree_at(lambda s: s.position, state, state.position.at[4].set(2))
    assert numbers(ROWS(moved)) == rows(GRID)


def test_of_more_hunters_the_four_nearest_are_seen():
    crowd = """
        d . . . .
        . ^ A . .
        . b . . .
        c . . f .
        . . . . <"""
    assert rows(crowd) == rows(crowd.replace("f", "."))[:1] + rows(crowd)[1:]
    assert rows(crowd)[1] != rows(crowd.replace("f", "."))[1]


def test_row_0_of_an_observation_is_the_viewers():
    obs = jax.jit(lambda state: prey_observations(state, SIZE))(from_text(GRID, slots=SLOTS))
    first, second = numbers(obs.agents)
    assert first == rows(GRID)
    assert second == rows(GRID)[::-1]
    assert obs.visible.all()
    assert obs.shared.shape == (2, 0)


@pytest.mark.parametrize(
    ("arrow", "impossible"), [("^", "forward"), (">", "step left"), ("v", "back"), ("<", "step right")]
)
def test_steps_off_the_grid_are_not_legal_as_seen_from_where_the_prey_faces(arrow, impossible):
    state: WolfpackState = from_text(f". . {arrow} . . \n A . . . . \n . . . . . \n . . . . . \n . . . . <")
    names = [PREY_ACTION_NAMES[a] for a in np.flatnonzero(prey_legal(state, SIZE)[0])]
    assert names == [name for name in PREY_ACTION_NAMES if name != impossible]
