"""What each scripted forager goes for, on hand-drawn grids.

The acting teammate is always ``b``.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from openteam.errors import UserError
from openteam.teammates import Foragers
from openteam.teammates.foragers import PARAMETERS
from openteam.views import FullView
from openteam.worlds.lbf import ACTION_NAMES, Foraging
from openteam.worlds.lbf.draw import from_text
from tests.scripts import Scripts

NAMES = tuple(PARAMETERS)
WORLD = Foraging(size=6)
SCRIPTS = Scripts(Foragers(), WORLD, partial(from_text, slots=3, foods=3), "choose_food", ACTION_NAMES)
decisions, goes_for, does, acts_at_random = SCRIPTS.decisions, SCRIPTS.goes_for, SCRIPTS.does, SCRIPTS.acts_at_random


ONLY = {
    "H1 takes the food nearest to itself": (
        (3, 4),
        """
        .  .  .  .  .  c3
        .  2  .  .  .  .
        .  .  A1 b3 .  .
        .  .  .  .  4  .
        .  .  1  .  .  .
        .  .  .  .  .  .""",
    ),
    "H2 takes the food nearest to the centre of the team": (
        (3, 1),
        """
        .  .  .  .  .  .
        c1 .  .  .  .  .
        A1 .  .  .  5  .
        .  5  .  .  .  .
        .  .  .  b1 .  .
        .  .  .  .  .  .""",
    ),
    "H3 takes the nearest food no heavier than itself": (
        (4, 2),
        """
        .  .  .  .  .  .
        .  c3 3  .  .  .
        .  A1 .  .  .  .
        .  .  .  b3 4  .
        .  .  1  .  .  .
        .  .  .  .  .  .""",
    ),
    "H4 takes the food nearest to the centre that the whole team can lift": (
        (1, 1),
        """
        .  .  .  .  .  .
        .  3  .  b2 2  .
        .  .  .  c1 .  .
        A1 .  5  .  .  .
        .  .  .  .  .  .
        .  .  .  .  .  .""",
    ),
    "H5 takes the food farthest from itself": (
        (4, 4),
        """
        .  .  .  .  .  .
        .  .  .  1  .  .
        .  .  A1 .  .  .
        b2 .  .  .  .  .
        .  .  .  .  3  c1
        .  .  .  .  .  .""",
    ),
    "H6 takes the heaviest food no heavier than itself": (
        (3, 4),
        """
        .  .  .  b2 .  .
        .  .  A2 1  .  .
        .  .  .  .  .  .
        .  .  .  .  2  .
        .  5  .  .  .  .
        .  .  .  c1 .  .""",
    ),
    "H7 takes the food farthest from the agent farthest from itself": (
        (4, 2),
        """
        .  .  .  .  .  c3
        .  2  .  .  .  .
        .  .  A1 b3 .  .
        .  .  .  .  4  .
        .  .  1  .  .  .
        .  .  .  .  .  .""",
    ),
    "H8 takes the heaviest food no heavier than the strongest agent": (
        (4, 2),
        """
        .  .  .  .  .  .
        .  1  .  .  .  .
        .  .  .  .  4  b1
        .  c1 A3 .  .  .
        .  .  2  .  .  .
        .  .  .  .  .  .""",
    ),
}


@pytest.mark.parametrize("rule", ONLY)
def test_each_type_goes_where_no_other_type_would(rule):
    name, (cell, grid) = rule[:2], ONLY[rule]
    assert goes_for(grid, name) == cell
    for other in set(NAMES) - {name}:
        assert cell not in decisions(grid, other)[0], other


def test_h6_takes_the_heaviest_of_all_when_none_is_light_enough():
    grid = "b1 . . . . . \n . 2 . . . . \n . . . . . . \n . . . 3 . . \n . . . . . . \n . . . . . A1"
    assert goes_for(grid, "H6") == (3, 3)


def test_h8_takes_the_heaviest_of_all_when_none_is_light_enough():
    grid = "b1 . . . . . \n . 3 . . . . \n . . . . . . \n . . . 4 . . \n . . . . . . \n . . . . . A2"
    assert goes_for(grid, "H8") == (3, 3)


def test_h8_follows_the_farthest_agent_when_nobody_is_stronger_than_itself():
    # c is as strong as b, so it does not lead; A is farther away, and can lift but one.
    grid = "b2 c2 . . . . \n . 2 . . . . \n . . . . . . \n . . . 1 . . \n . . . . . . \n . . . . . A1"
    assert goes_for(grid, "H8") == (3, 3)


@pytest.mark.parametrize(("by_cell", "food"), [(False, (1, 1)), (True, (3, 3))])
def test_h8_may_read_its_leaders_level_off_the_last_agent_on_the_leaders_cell(by_cell, food):
    # c leads b and could take 2; d, of level 1, is put on the same cell.
    state = from_text(
        "b1 . . . . . \n . 2 . . . . \n . . . . . d1 \n . . . 1 . . \n . . . . . . \n A1 . . . . c2", foods=3
    )
    state = eqx.tree_at(lambda s: s.position, state, state.position.at[3].set(state.position[2]))
    obs = FullView()(jax.random.key(0), WORLD, state, jnp.array(1))
    h8 = Foragers(("H8",), level_by_cell=by_cell).member(jnp.array(0))
    assert tuple(h8.choose_food(obs, jnp.zeros(()))[0].tolist()) == food


@pytest.mark.parametrize("name", ["H3", "H4"])
def test_types_that_insist_act_at_random_when_nothing_is_light_enough(name):
    grid = "b1 . . . . . \n . 3 . . . . \n . . . . . . \n . . . 3 . . \n . . . . . . \n . . . . . A1"
    assert goes_for(grid, name) == (-1, -1)
    acts_at_random(grid, name, ["none", "south", "east"])


def test_h4_counts_only_who_is_present():
    heavy = "b1 . . . . . \n . 3 . . . . \n . . . . . . \n . . . . . . \n . . . . . . \n . . . . . A1"
    assert goes_for(heavy, "H4") == (-1, -1)
    assert goes_for(heavy.replace("b1 .", "b1 c1"), "H4") == (1, 1)


@pytest.mark.parametrize("name", NAMES)
def test_without_food_every_type_acts_at_random(name):
    grid = "b1 . . . . . \n . . . . . . \n . . . . . . \n . . . . . . \n . . . . . . \n . . . . . A1"
    acts_at_random(grid, name, ["none", "south", "east"])


@pytest.mark.parametrize("name", ["H1", "H2", "H5", "H6", "H8"])
def test_of_equals_the_first_in_row_major_order_counts(name):
    grid = ". . . . . . \n . . . 1 . . \n . . . . . . \n . 1 . b1 . 1 \n . . . A1 . . \n . . c1 . . ."
    assert goes_for(grid, name) == {"H2": (3, 1)}.get(name, (1, 3))


def test_h7_draws_among_agents_that_are_equally_far():
    grid = "A1 . . . . . \n . 1 . . . . \n . . b1 . . . \n . 1 . . . . \n c1 . . . . . \n . . . . . ."
    cells, actions = decisions(grid, "H7")
    assert cells == {(1, 1), (3, 1)}
    assert actions == pytest.approx({"north": 0.5, "south": 0.5}, abs=0.06)


def test_h7_alone_is_its_own_farthest_agent():
    grid = "b1 . . . . . \n . 2 . . . . \n . . . . . . \n . . . 3 . . \n . . . . . . \n . . . . . ."
    assert goes_for(grid, "H7") == goes_for(grid, "H5") == (3, 3)


def test_a_family_of_some_types_numbers_them_as_named():
    some = Foragers(names=("H5", "H2"))
    assert some.size == 2
    for index, name in enumerate(some.names):
        member, same = some.member(jnp.array(index)), Foragers().member(jnp.array(NAMES.index(name)))
        assert jax.tree.leaves(member) == jax.tree.leaves(same)


@pytest.mark.parametrize("names", [("H1", "H9"), ()])
def test_types_that_do_not_exist_are_refused(names):
    with pytest.raises(UserError, match=r"Scripted foragers are H1, .*, H8; got (H1, H9|none)\."):
        Foragers(names=names)
