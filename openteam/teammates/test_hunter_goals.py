"""Which prey scripted hunters go for, and which cell beside it, on hand-drawn grids and on many random ones.

The acting teammate is always ``b``; of two prey the first in row-major order is number 0.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.teammates.hunters import assigned_goal, nearest_goal, read_scene
from openteam.teammates.test_hunters import NAMES, SIZE, SLOTS, does, observe, put
from openteam.worlds.wolfpack import WolfpackState
from openteam.worlds.wolfpack.draw import from_text


@pytest.mark.parametrize(("cell", "action"), [((1, 2), "down"), ((3, 2), "up"), ((2, 1), "right"), ((2, 3), "left")])
@pytest.mark.parametrize("name", NAMES[1:4])
def test_beside_a_prey_it_is_pushed(name, cell, action):
    assert does(put(("^", 2, 2), ("b", *cell), ("A", 5, 4), ("v", 5, 5)), name) == action


def test_of_two_prey_beside_the_first_is_pushed():
    assert does(put(("^", 1, 2), ("b", 2, 2), ("v", 2, 3), ("A", 5, 5)), "greedy") == "up"


def test_the_prey_with_the_nearest_free_side_is_hunted_and_of_equals_the_first():
    assert does(put(("b", 2, 2), ("^", 0, 2), ("v", 2, 5), ("A", 5, 0)), "greedy") == "up"
    assert does(put(("b", 2, 2), ("^", 0, 2), ("v", 2, 4), ("A", 5, 0)), "greedy") == "up"
    assert does(put(("b", 2, 2), ("^", 2, 0), ("v", 4, 2), ("A", 5, 5)), "greedy") == "left"


def test_a_prey_with_two_hunters_beside_was_captured_so_the_other_is_hunted():
    caught = put(("b", 2, 2), ("^", 2, 1), ("A", 2, 0), ("v", 5, 2))
    assert does(caught, "greedy") == "down"
    assert does(caught.replace("A", "."), "greedy") == "left"


def test_the_aware_type_leaves_the_nearest_cell_to_who_chooses_first():
    # c is farthest from a cell beside a prey, so it chooses first and takes the left one; b goes below the prey.
    grid = """
        . . . . . .
        . . . . . .
        . . . > . .
        c b . . . .
        . . . . . .
        . . . . . v"""
    assert does(grid, "greedy") == "right"
    assert POSTS(from_text(grid, slots=SLOTS)).cell[1:3].tolist() == [[3, 3], [2, 2]]


def goals(state):
    """What the greedy and the aware go for, in every slot."""

    def one(viewer):
        scene = read_scene(observe(state, viewer), SIZE)
        return nearest_goal(scene), assigned_goal(scene, SIZE)

    return jax.vmap(one)(jnp.arange(SLOTS))


POSTS = jax.jit(lambda state: goals(state)[1])


def sides(prey):
    cells = [(row + r, column + c) for row, column in prey for r, c in ((0, -1), (0, 1), (1, 0), (-1, 0))]
    return [cell for cell in cells if all(0 <= each < SIZE for each in cell)]


def gap(a, b):
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def test_on_random_grids_goals_are_those_of_plain_rules():
    rng, grids = np.random.default_rng(0), 400
    order = np.argsort(rng.random((grids, SIZE**2)), 1)[:, : SLOTS + 2]
    cells = np.stack([order // SIZE, order % SIZE], -1).astype(np.int32)
    present = rng.random((grids, SLOTS)) < 0.8
    none = np.zeros((grids, 2), bool)
    leaves = (present, cells[:, :SLOTS], cells[:, SLOTS:], np.zeros((grids, 2), np.int32), none, ~none)
    states = jax.vmap(WolfpackState)(*map(jnp.asarray, leaves))
    nearest, post = jax.tree.map(np.asarray, jax.jit(jax.vmap(goals))(states))
    for number in range(grids):
        where = [tuple(cell) for cell in cells[number].tolist()]
        team = [slot for slot in range(SLOTS) if present[number, slot]]
        prey = where[SLOTS:]
        live = [p for p in prey if sum(gap(where[j], p) == 1 for j in team) < 2]
        for slot in team:
            expected = min(sides(live), key=lambda cell: gap(cell, where[slot]), default=None)
            assert nearest.exists[number, slot] == (expected is not None)
            if expected:
                assert tuple(nearest.cell[number, slot]) == expected
        free = sides(prey)
        for slot in sorted(team, key=lambda j: (-max(gap(where[j], cell) for cell in sides(prey)), where[j])):
            expected = min(free, key=lambda cell: gap(cell, where[slot]), default=None)
            assert post.exists[number, slot] == (expected is not None)
            if expected:
                free.remove(expected)
                assert tuple(post.cell[number, slot]) == expected
                assert gap(expected, post.prey[number, slot]) == 1
