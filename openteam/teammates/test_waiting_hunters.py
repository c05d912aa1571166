"""Hunters that wait for others: their patience, and how they back off from a prey.

The acting teammate is always ``b``.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.teammates.hunters import Patience, draw_patience, step_away_blindly
from openteam.teammates.test_hunters import DECIDE, IN_THE_WAY, NAMES, SIZE, SLOTS, WITH_OTHERS, does, put, shares
from openteam.worlds.wolfpack import ACTION_NAMES
from openteam.worlds.wolfpack.draw import from_text

LONELY = """
    . . . . . .
    . . . . . .
    . b . > . .
    . . . . . .
    . . . . . .
    A . . . . ^"""


@pytest.mark.parametrize("name", NAMES[1:4])
def test_only_the_waiting_types_back_off_from_a_prey_when_alone(name):
    assert does(LONELY, f"{name}-waiting") == "left"
    assert shares(LONELY, name).get("left", 0) < 0.5


def test_with_others_near_each_waiting_type_hunts_as_only_its_own_kind_does():
    assert does(IN_THE_WAY, "greedy-waiting", radius=3) == "right"
    assert set(shares(IN_THE_WAY, "greedy-probabilistic-waiting", radius=3)) == {"up", "right", "down", "left"}
    assert does(IN_THE_WAY, "teammate-aware-waiting", radius=3) == "up"
    for name in NAMES[4:]:
        assert does(IN_THE_WAY.replace("c", "."), name, radius=3) == "left"


def test_near_means_within_the_radius_and_enough_is_a_number_of_others():
    assert does(LONELY, "greedy-waiting", radius=2) == "left"
    assert does(LONELY, "greedy-waiting", radius=1) == "right"
    assert does(WITH_OTHERS, "greedy-waiting", others=1) == "right"
    assert does(WITH_OTHERS, "greedy-waiting", others=2) == "left"


def test_others_count_only_within_the_radius_of_the_prey():
    near = put(("b", 2, 1), ("^", 2, 3), ("c", 2, 5), ("A", 5, 0), ("v", 5, 5))
    far = put(("b", 2, 1), ("^", 2, 3), ("c", 1, 5), ("A", 5, 0), ("v", 5, 5))
    assert does(near, "greedy-waiting") == "right"
    assert does(far, "greedy-waiting") == "left"


@pytest.mark.parametrize(
    ("prey", "hunter", "action"),
    [
        ((3, 2), (1, 2), "up"),
        ((2, 3), (3, 2), "left"),  # equal gaps: columns
        ((2, 2), (0, 2), "right"),  # the grid ends above, and there is no gap across: right
        ((2, 5), (0, 5), "left"),  # and where it ends there, left
        ((2, 1), (0, 0), "left"),  # the grid ends above, then across: the step counts as none
    ],
)
def test_backing_off_follows_the_larger_gap_unless_the_grid_ends(prey, hunter, action):
    grid = put(("^", *prey), ("b", *hunter), ("v", 5, 5))
    assert does(grid, "greedy-waiting", radius=3) == action


@pytest.mark.parametrize(
    ("prey", "hunter", "actions"),
    [
        ((3, 2), (1, 2), {"up"}),
        ((2, 3), (3, 2), {"left"}),  # equal gaps: columns
        ((2, 2), (0, 2), {"left"}),  # the grid ends above, and there is no gap across: left
        ((2, 5), (0, 5), {"left"}),
        ((2, 3), (2, 5), {"down"}),  # the grid ends on the right, and there is no gap across: down
        ((2, 0), (0, 0), {"up", "right", "down", "left"}),  # it ends above and on the left
        ((2, 1), (0, 0), {"up", "right", "down", "left"}),
    ],
)
def test_backing_off_blindly_has_one_direction_per_axis_and_is_random_in_corners(prey, hunter, actions):
    found = {
        ACTION_NAMES[int(step_away_blindly(jnp.asarray(u), jnp.array(hunter), jnp.array(prey), SIZE))]
        for u in (0.1, 0.3, 0.6, 0.9)
    }
    assert found == actions


def test_patience_is_drawn_at_entry_and_kept():
    state, old = from_text(LONELY, slots=SLOTS), Patience(jnp.array(9), jnp.array(8))
    _, drawn = DECIDE(state, old, jnp.array(True))
    _, kept = DECIDE(state, old, jnp.array(False))
    assert (kept.radius == 9).all()
    assert (kept.others == 8).all()
    assert np.bincount(drawn.radius.ravel())[2:] / drawn.radius.size == pytest.approx([0.4, 0.4, 0.2], abs=0.03)
    assert np.bincount(drawn.others.ravel())[1:] / drawn.others.size == pytest.approx([0.7, 0.3], abs=0.03)


def test_radius_and_number_of_others_are_drawn_apart():
    lines = jnp.linspace(0, 0.999, 20)
    drawn = jax.vmap(lambda a: jax.vmap(lambda b: draw_patience(a, b))(lines))(lines)
    assert len({*zip(drawn.radius.ravel().tolist(), drawn.others.ravel().tolist(), strict=True)}) == 6
