"""How scripted foragers get to their food, and when they load. The acting teammate is always ``b``."""

import numpy as np
import pytest

from openteam.teammates.test_foragers import acts_at_random, does


def test_rows_come_before_columns():
    away = ". . . . . . \n . b1 . . . . \n . . . . . . \n . . . . 1 . \n . . . . . . \n . . . . . A1"
    back = ". . . . . A1 \n . . . . . . \n . 1 . . . . \n . . . . . . \n . . . b1 . . \n . . . . . ."
    assert does(away) == "south"
    assert does(back) == "north"


def test_columns_are_walked_when_the_row_is_right():
    right = ". . . . . . \n . b1 . . 1 . \n . . . . . . \n . . . . . . \n . . . . . . \n . . . . . A1"
    left = ". . . . . . \n . 1 . . b1 . \n . . . . . . \n . . . . . . \n . . . . . . \n . . . . . A1"
    assert does(right) == "east"
    assert does(left) == "west"


def test_a_column_is_walked_when_food_blocks_the_row():
    grid = ". . . . . . \n . b1 . . . . \n . 1 . . . . \n . . . . . . \n . . . . 1 . \n . . . . . A1"
    assert does(grid, "H5") == "east"


def test_agents_in_the_way_are_walked_into():
    grid = ". . . . . . \n . b1 . . . . \n . A1 . . . . \n . . . . . . \n . . . . 1 . \n . . . . . ."
    assert does(grid) == "south"


@pytest.mark.parametrize(("row", "column"), [(1, 2), (2, 1), (2, 3), (3, 2)])
def test_beside_its_food_everybody_loads(row, column):
    cells = np.full((6, 6), ".", object)
    cells[2, 2], cells[5, 5], cells[row, column] = "2", "A1", "b1"
    grid = "\n".join(" ".join(line) for line in cells)
    assert {does(grid, name) for name in ("H1", "H2", "H5", "H6", "H7", "H8")} == {"load"}


def test_beside_another_food_nobody_loads():
    grid = ". . . . . . \n . b1 1 . . . \n . . . . . . \n . . . . . . \n . 1 . . . . \n . . . . . A1"
    assert does(grid, "H5") == "south"


def test_without_a_useful_step_a_random_legal_action_is_taken():
    grid = ". . . . . . \n . b1 . . . . \n . 1 . . . . \n . . . . . . \n . 1 . . . . \n . . . . . A1"
    acts_at_random(grid, "H5", ["none", "north", "west", "east", "load"])
