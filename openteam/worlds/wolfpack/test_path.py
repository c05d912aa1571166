"""First steps of shortest ways, drawn by hand and found by breadth-first search."""

from collections import deque
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from openteam.worlds.wolfpack.path import first_steps
from openteam.worlds.wolfpack.state import ACTION_NAMES

SIZE, BODIES = 5, 9
STEPS = jax.jit(partial(first_steps, size=SIZE))


def ways(text, needed=True):
    """Which first steps lead from A to G around x; A is a body too."""
    cells = np.array([line.split() for line in text.strip().splitlines()])
    start, goal = (np.argwhere(cells == letter)[0] for letter in "AG")
    bodies = np.argwhere((cells == "x") | (cells == "A"))
    padded = np.zeros((BODIES, 2), int)
    padded[: len(bodies)] = bodies
    there = np.arange(BODIES) < len(bodies)
    steps = STEPS(*map(jnp.asarray, (start, goal, padded, there, needed)))
    return {ACTION_NAMES[step] for step in np.flatnonzero(steps)}


def test_all_first_steps_of_shortest_ways_are_found():
    assert ways("A . . . . \n . . . . . \n . . G . . \n . . . . . \n . . . . .") == {"right", "down"}
    assert ways(". . . . . \n . G . A . \n . . . . . \n . . . . . \n . . . . .") == {"left"}


def test_a_way_leads_around_bodies():
    assert ways("A x . . G \n . x . . . \n . x . . . \n . . . . . \n . . . . .") == {"down"}


def test_the_shorter_way_around_is_taken():
    assert ways(". . . . . \n . x x . . \n . A x G . \n . x x . . \n . . x . .") == {"left"}
    assert ways(". . . x . \n . . . x . \n . A x x G \n . . x x . \n . . . . .") == {"down"}


def test_the_cell_beside_is_reached_at_once():
    assert ways(". . . . . \n . A G . . \n . . . . . \n . . . . . \n . . . . .") == {"right"}


def test_there_is_no_way_through_a_wall_nor_off_the_grid():
    assert ways("A x . . G \n x . . . . \n . . . . . \n . . . . . \n . . . . .") == set()
    assert ways(". x . . . \n A x . . G \n . x . . . \n . x . . . \n . x . . .") == set()


def test_nothing_is_searched_when_nothing_is_needed():
    assert ways("A . . . . \n . . . . . \n . . G . . \n . . . . . \n . . . . .", needed=False) == set()


def test_rows_do_not_run_into_each_other():
    # The goal is at the end of one row, the walker at the beginning of the next.
    assert ways(". . . . G \n A . . . . \n . . . . . \n . . . . . \n . . . . .") == {"up", "right"}


def beside(cell):
    row, column = cell
    return [(row - 1, column), (row, column + 1), (row + 1, column), (row, column - 1)]


def restated(start, goal, bodies):
    """Breadth-first search from the goal."""
    if goal in bodies:
        return [False] * 4
    steps, queue = {goal: 0}, deque([goal])
    while queue:
        cell = queue.popleft()
        for other in beside(cell):
            if all(0 <= each < SIZE for each in other) and other not in bodies and other not in steps:
                steps[other] = steps[cell] + 1
                queue.append(other)
    around = [steps.get(cell, 99) for cell in beside(start)]
    return [each == min(around) < 99 for each in around]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.permutations(range(SIZE**2)), st.integers(0, BODIES))
def test_first_steps_are_those_that_a_search_finds(order, count):
    start, goal, *others = [divmod(cell, SIZE) for cell in order]
    bodies = [start, *others[: BODIES - 1]]
    there = np.arange(BODIES) <= count
    found = STEPS(*map(jnp.asarray, (start, goal, bodies, there, True)))
    assert found.tolist() == restated(start, goal, {b for b, t in zip(bodies, there, strict=True) if t} | {start})
