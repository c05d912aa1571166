"""What each scripted hunter does, on hand-drawn grids: what tells the types apart, and their steps.

The acting teammate is always ``b``; of two prey the first in row-major order is number 0.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.memory import Memory
from openteam.core.types import first_view
from openteam.errors import UserError
from openteam.teammates.hunters import PARAMETERS, Hunters, Patience, noisy_step
from openteam.views import FullView
from openteam.worlds.wolfpack import ACTION_NAMES, Wolfpack
from openteam.worlds.wolfpack.draw import from_text

NAMES = tuple(PARAMETERS)
SIZE, SLOTS, DRAWS = 6, 4, 1500
WORLD = Wolfpack(size=SIZE)


def observe(state, viewer):
    obs = FullView()(jax.random.key(0), WORLD, state, viewer)
    # Nonsense in rows that are not visible must not matter.
    return eqx.tree_at(lambda o: o.agents, obs, jnp.where(obs.visible[:, None], obs.agents, 2.0))


def decide(state, patience, starts, draws=DRAWS):
    """Actions and memories of every type, for many draws."""
    view = eqx.tree_at(lambda v: v.starts, first_view(observe(state, jnp.array(1))), starts)
    keys = jax.random.split(jax.random.key(1), (len(NAMES), draws))
    memory = Memory(patience, ())
    one = jax.vmap(lambda index, key: Hunters(grid=SIZE).member(index).act(key, memory, view), (None, 0))
    actions, after = jax.vmap(one)(jnp.arange(len(NAMES)), keys)
    return actions, after.team


DECIDE = jax.jit(decide, static_argnums=3)


def shares(grid, name, radius=2, others=1):
    """How often a type takes which action, with that patience."""
    patience = Patience(jnp.array(radius), jnp.array(others))
    actions, _ = DECIDE(from_text(grid, slots=SLOTS), patience, jnp.zeros((), bool))
    counts = np.bincount(np.asarray(actions[NAMES.index(name)]), minlength=5) / DRAWS
    return {ACTION_NAMES[action]: counts[action] for action in np.flatnonzero(counts)}


def does(grid, name, **patience):
    (action,) = shares(grid, name, **patience)
    return action


def acts_at_random(grid, name):
    assert shares(grid, name) == pytest.approx(dict.fromkeys(ACTION_NAMES, 0.2), abs=0.06)


IN_THE_WAY = """
    . . . . . .
    . b c . > .
    . . . . . .
    . . . . . .
    . . . . . .
    A . . . . ^"""
WITH_OTHERS = """
    . . . . . .
    . . . . . .
    . b c > . .
    . . . . . .
    . . . . . .
    A . . . . ^"""


def test_only_the_random_type_may_stay():
    acts_at_random(IN_THE_WAY, "random")
    for name in NAMES[1:]:
        assert "stay" not in shares(IN_THE_WAY, name)


def test_only_the_greedy_type_walks_straight_into_who_stands_in_the_way():
    assert does(IN_THE_WAY, "greedy") == "right"
    assert does(IN_THE_WAY, "teammate-aware") != "right"
    assert shares(IN_THE_WAY, "greedy-probabilistic")["right"] < 0.6


def test_only_the_probabilistic_type_sways_in_all_four_directions():
    assert set(shares(IN_THE_WAY, "greedy-probabilistic")) == {"up", "right", "down", "left"}


def test_only_the_aware_type_walks_around_who_stands_in_the_way():
    assert does(IN_THE_WAY, "teammate-aware") == "up"
    assert does(IN_THE_WAY, "greedy") != "up"


def put(*bodies):
    """A grid with b and what else is given as (letter, row, column)."""
    cells = np.full((SIZE, SIZE), ".", object)
    for letter, row, column in bodies:
        cells[row, column] = letter
    return "\n".join(" ".join(line) for line in cells)


def test_the_larger_gap_is_walked_first_and_the_columns_if_both_are_equal():
    # The nearest cell beside the prey is its left one in both cases: 3 down and 1 right, 1 down and 1 right.
    assert does(put(("b", 0, 2), ("^", 3, 4), ("A", 5, 0), ("v", 5, 5)), "greedy") == "down"
    assert does(put(("b", 2, 2), ("^", 3, 4), ("A", 5, 0), ("v", 5, 5)), "greedy") == "right"


def test_with_no_prey_left_alive_greedy_types_act_at_random():
    grid = put(("A", 0, 0), ("^", 0, 1), ("b", 0, 2), ("v", 0, 3), ("c", 0, 4))
    for name in ("greedy", "greedy-probabilistic", "greedy-waiting"):
        acts_at_random(grid, name)


def sigmoid(x):
    return 1 / (1 + np.exp(-x / 2.5))


def test_chance_prefers_the_larger_gap_and_coming_nearer():
    # To the cell left of the prey: 1 down, 3 right.
    found = shares(put(("b", 1, 1), ("^", 2, 5), ("A", 5, 0), ("v", 5, 5)), "greedy-probabilistic")
    across, closer = sigmoid(3 - 1), sigmoid(2)
    expected = {
        "right": across * closer,
        "left": across * (1 - closer),
        "down": (1 - across) * closer,
        "up": (1 - across) * (1 - closer),
    }
    assert found == pytest.approx(expected, abs=0.06)


def test_chance_sees_the_edge_as_five_cells_farther():
    # 3 right in the top row: up is off the grid and down is as far from the goal.
    found = shares(put(("b", 0, 1), ("^", 0, 5), ("A", 5, 0), ("v", 5, 1)), "greedy-probabilistic")
    assert found["up"] / (found["up"] + found["down"]) == pytest.approx(1 - sigmoid(5), abs=0.1)


def test_the_aware_type_acts_at_random_when_its_cell_is_taken_or_out_of_reach():
    acts_at_random(WITH_OTHERS, "teammate-aware")
    acts_at_random(put(("b", 0, 0), ("A", 0, 1), ("c", 1, 0), ("^", 3, 3), ("v", 5, 5)), "teammate-aware")


@pytest.mark.parametrize(
    ("me", "goal", "drifts", "down"),
    [
        ((2, 1), (2, 4), False, 0.5),
        ((2, 1), (2, 4), True, sigmoid(2)),
        ((5, 1), (5, 4), True, sigmoid(2 - 5)),  # down is off the grid
        ((3, 1), (2, 4), True, 1 - sigmoid(2)),  # a gap is closed as ever
    ],
)
def test_without_a_gap_a_drifting_hunter_goes_down_rather_than_up(me, goal, drifts, down):
    sides = (jnp.arange(200) + 0.5) / 200
    one = jax.vmap(lambda u: noisy_step(jnp.zeros(()), u, jnp.array(me), jnp.array(goal), SIZE, drifts))
    assert np.mean(np.asarray(one(sides)) == ACTION_NAMES.index("down")) == pytest.approx(down, abs=0.01)


def test_a_family_of_some_types_numbers_them_as_named():
    some = Hunters(names=("teammate-aware", "greedy-waiting"))
    for index, name in enumerate(some.names):
        member, same = some.member(jnp.array(index)), Hunters().member(jnp.array(NAMES.index(name)))
        assert jax.tree.leaves(member) == jax.tree.leaves(same)


@pytest.mark.parametrize("names", [("greedy", "keen"), ()])
def test_types_that_do_not_exist_are_refused(names):
    with pytest.raises(UserError, match=r"Scripted hunters are random, .*-waiting; got (greedy, keen|none)\."):
        Hunters(names=names)
