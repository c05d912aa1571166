"""Every rule of a step on a hand-drawn grid."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.lbf import ACTION_NAMES, Foraging
from openteam.worlds.lbf.draw import from_text, to_text
from openteam.worlds.lbf.state import LOAD

WORLD = Foraging(size=4, foods=2)
STEP = eqx.filter_jit(WORLD.step)
LEGAL = eqx.filter_jit(WORLD.legal)


def draw(text, absent=()):
    """One shape for all grids, so that everything compiles once."""
    return WORLD.dismiss(from_text(text, slots=3, foods=2), jnp.isin(jnp.arange(3), jnp.array(absent)))


def step(state, *names):
    """The next grid, the rewards, and whether the task is over; who is not named does nothing."""
    if isinstance(state, str):
        state = draw(state)
    actions = [ACTION_NAMES.index(name) for name in names] + [0] * (3 - len(names))
    state, reward, over = STEP(jax.random.key(0), state, jnp.array(actions))
    return to_text(state, 4), reward.tolist(), bool(over)


def grid(text):
    return to_text(draw(text), 4)


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("none", ". . . . \n . A1 . . \n . . . . \n . . . 1"),
        ("north", ". A1 . . \n . . . . \n . . . . \n . . . 1"),
        ("south", ". . . . \n . . . . \n . A1 . . \n . . . 1"),
        ("west", ". . . . \n A1 . . . \n . . . . \n . . . 1"),
        ("east", ". . . . \n . . A1 . \n . . . . \n . . . 1"),
    ],
)
def test_a_move_goes_one_cell(name, after):
    before = ". . . . \n . A1 . . \n . . . . \n . . . 1"
    assert step(before, name) == (grid(after), [0, 0, 0], False)


@pytest.mark.parametrize(("learner", "teammate"), [("north", "south"), ("west", "east")])
def test_a_move_off_the_grid_counts_as_none(learner, teammate):
    before = "A1 . . . \n . 1 . . \n . . . . \n . . . b1"
    assert step(before, learner, teammate)[0] == grid(before)


@pytest.mark.parametrize(("learner", "teammate"), [("east", "south"), ("none", "none")])
def test_a_move_into_food_counts_as_none(learner, teammate):
    before = ". b1 . . \n A1 3 . . \n . . . . \n . . . ."
    assert step(before, learner, teammate)[0] == grid(before)


def test_a_cell_whose_food_was_eaten_can_be_entered():
    state = draw("A1 1 . . \n . . . . \n . . . . \n . . . 1")
    state, _, _ = STEP(jax.random.key(0), state, jnp.array([LOAD, 0, 0]))
    assert step(state, "east")[0] == grid(". A1 . . \n . . . . \n . . . . \n . . . 1")


def test_food_blocks_moves_in_the_very_step_in_which_it_is_eaten():
    before = "A1 1 b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "west")[0] == grid("A1 . b1 . \n . . . . \n . . . . \n . . . 1")


def test_two_movers_into_one_cell_both_stay():
    before = "A1 . b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "west")[0] == grid(before)


def test_three_movers_into_one_cell_all_stay():
    before = "A1 . b1 . \n . c1 . . \n . . . . \n . . . 1"
    assert step(before, "east", "west", "north")[0] == grid(before)


def test_whoever_stays_keeps_its_cell():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "none")[0] == grid(before)


def test_whoever_loads_keeps_its_cell():
    before = "A1 b1 . . \n . 3 . . \n . . . . \n . . . ."
    assert step(before, "east", "load")[0] == grid(before)


def test_whose_move_counts_as_none_keeps_its_cell():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "north")[0] == grid(before)


def test_a_cell_that_is_being_left_can_be_entered():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "east")[0] == grid(". A1 b1 . \n . . . . \n . . . . \n . . . 1")


def test_two_agents_may_swap():
    before = "A1 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "west")[0] == grid("b1 A1 . . \n . . . . \n . . . . \n . . . 1")


def test_no_cascade_so_an_agent_enters_the_cell_that_another_failed_to_leave():
    before = "A1 b1 . c1 \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "east", "west")[0] == grid(". A1b1 . c1 \n . . . . \n . . . . \n . . . 1")


def test_agents_on_one_cell_part_when_one_of_them_moves():
    before = "A1b1 . . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "east", "none")[0] == grid("b1 A1 . . \n . . . . \n . . . . \n . . . 1")
    assert step(before, "east", "south")[0] == grid(". A1 . . \n b1 . . . \n . . . . \n . . . 1")
    assert step(before, "east", "east")[0] == grid(before)


def test_absent_agents_do_not_block():
    before = draw("A1 b1 . c1 \n . . . . \n . . . . \n . . . 1", absent=(1, 2))
    assert step(before, "east", "none", "west")[0] == grid(". A1 . . \n . . . . \n . . . . \n . . . 1")


def test_food_is_taken_by_one_whose_level_reaches_its_level():
    before = "A2 2 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load") == (grid("A2 . . . \n . . . . \n . . . . \n . . . 1"), [2, 0, 0], False)


def test_food_stays_when_the_levels_of_the_loading_do_not_reach_its_level():
    before = "A2 4 b1 . \n . . . . \n . . . . \n . . . ."
    assert step(before, "load", "load") == (grid(before), [0, 0, 0], False)


def test_all_who_load_together_get_the_full_level_of_the_food():
    before = "A2 4 b1 . \n . c1 . . \n . . . . \n . . . 1"
    after = "A2 . b1 . \n . c1 . . \n . . . . \n . . . 1"
    assert step(before, "load", "load", "load") == (grid(after), [4, 4, 4], False)


def test_more_hands_than_needed_are_rewarded_too():
    before = "A2 1 b2 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "load")[1] == [1, 1, 0]


def test_a_bystander_who_does_not_load_gets_nothing_and_does_not_help():
    enough, short = "A2 2 b1 . \n . . . . \n . . . . \n . . . 1", "A2 3 b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(enough, "load", "none")[1] == [2, 0, 0]
    assert step(short, "load", "none") == (grid(short), [0, 0, 0], False)


def test_one_who_leaves_in_the_same_step_does_not_help():
    before = "A2 3 b1 . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "east")[1] == [0, 0, 0]


def test_food_across_a_corner_is_not_beside():
    before = "A2 . . . \n . 1 . . \n . . . . \n . . . ."
    assert step(before, "load") == (grid(before), [0, 0, 0], False)


def test_a_load_with_no_food_beside_counts_as_none():
    before = "A2 b1 . . \n . . . . \n . . . . \n . . . 1"
    assert step(before, "load", "west") == (grid(before), [0, 0, 0], False)


def test_absent_agents_neither_load_nor_get_a_reward():
    before = draw("A2 3 b1 . \n . . . . \n . . . . \n . . . 1", absent=(1,))
    assert step(before, "load", "load") == (grid("A2 3 . . \n . . . . \n . . . . \n . . . 1"), [0, 0, 0], False)


def test_two_foods_are_taken_in_one_step_by_their_own_loaders():
    before = "A1 1 . . \n . . . . \n . . c2 2 \n . . . ."
    after = "A1 . . . \n . . . . \n . . c2 . \n . . . ."
    assert step(before, "load", "none", "load") == (grid(after), [1, 0, 2], True)


def test_the_task_is_over_when_no_food_is_left_and_not_before():
    assert not step("A1 1 . . \n . . . . \n . . . . \n . . . 1", "load")[2]
    assert step("A1 1 . . \n . . . . \n . . . . \n . . . .", "load")[2]


def test_legal_are_exactly_the_actions_that_have_an_effect():
    state = draw("A1 . . . \n . 1 b1 . \n . . . . \n . . . c1")
    names = [[ACTION_NAMES[a] for a in np.flatnonzero(row)] for row in np.asarray(LEGAL(state))]
    assert names[0] == ["none", "south", "east"]  # food across the corner: no load
    assert names[1] == ["none", "north", "south", "east", "load"]  # food to the west
    assert names[2] == ["none", "north", "west"]


def test_agents_are_no_obstacle_to_a_legal_move_because_they_may_step_aside():
    assert LEGAL(draw("A1 b1 . . \n . . . . \n . . . . \n . . . 1"))[0, ACTION_NAMES.index("east")]


def test_eaten_food_makes_neither_load_legal_nor_a_move_illegal():
    state = draw("A1 1 . . \n . . . . \n . . . . \n . . . 1")
    eaten, _, _ = STEP(jax.random.key(0), state, jnp.array([LOAD, 0, 0]))
    assert [ACTION_NAMES[a] for a in np.flatnonzero(LEGAL(eaten)[0])] == ["none", "south", "east"]


def test_an_absent_agent_can_only_do_what_does_nothing():
    state = draw("A1 1 b2 . \n . . . . \n . . . . \n . . . .", absent=(1,))
    legal = LEGAL(state)[1]
    assert legal[0]
    assert not legal[LOAD]
