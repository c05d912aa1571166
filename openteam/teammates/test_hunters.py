"""What each scripted hunter does, on hand-drawn grids and on many random ones.

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
from openteam.teammates.hunters import (
    PARAMETERS,
    Hunters,
    Patience,
    assigned_goal,
    draw_patience,
    nearest_goal,
    noisy_step,
    read_scene,
    step_away_blindly,
)
from openteam.views import FullView
from openteam.worlds.wolfpack import ACTION_NAMES, Wolfpack, WolfpackState
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
LONELY = """
    . . . . . .
    . . . . . .
    . b . > . .
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


def put(*bodies):
    """A grid with b and what else is given as (letter, row, column)."""
    cells = np.full((SIZE, SIZE), ".", object)
    for letter, row, column in bodies:
        cells[row, column] = letter
    return "\n".join(" ".join(line) for line in cells)


@pytest.mark.parametrize(("cell", "action"), [((1, 2), "down"), ((3, 2), "up"), ((2, 1), "right"), ((2, 3), "left")])
@pytest.mark.parametrize("name", NAMES[1:4])
def test_beside_a_prey_it_is_pushed(name, cell, action):
    assert does(put(("^", 2, 2), ("b", *cell), ("A", 5, 4), ("v", 5, 5)), name) == action


def test_of_two_prey_beside_the_first_is_pushed():
    assert does(put(("^", 1, 2), ("b", 2, 2), ("v", 2, 3), ("A", 5, 5)), "greedy") == "up"


def test_the_larger_gap_is_walked_first_and_the_columns_if_both_are_equal():
    # The nearest cell beside the prey is its left one in both cases: 3 down and 1 right, 1 down and 1 right.
    assert does(put(("b", 0, 2), ("^", 3, 4), ("A", 5, 0), ("v", 5, 5)), "greedy") == "down"
    assert does(put(("b", 2, 2), ("^", 3, 4), ("A", 5, 0), ("v", 5, 5)), "greedy") == "right"


def test_the_prey_with_the_nearest_free_side_is_hunted_and_of_equals_the_first():
    assert does(put(("b", 2, 2), ("^", 0, 2), ("v", 2, 5), ("A", 5, 0)), "greedy") == "up"
    assert does(put(("b", 2, 2), ("^", 0, 2), ("v", 2, 4), ("A", 5, 0)), "greedy") == "up"
    assert does(put(("b", 2, 2), ("^", 2, 0), ("v", 4, 2), ("A", 5, 5)), "greedy") == "left"


def test_a_prey_with_two_hunters_beside_was_captured_so_the_other_is_hunted():
    caught = put(("b", 2, 2), ("^", 2, 1), ("A", 2, 0), ("v", 5, 2))
    assert does(caught, "greedy") == "down"
    assert does(caught.replace("A", "."), "greedy") == "left"


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


def test_the_aware_type_acts_at_random_when_its_cell_is_taken_or_out_of_reach():
    acts_at_random(WITH_OTHERS, "teammate-aware")
    acts_at_random(put(("b", 0, 0), ("A", 0, 1), ("c", 1, 0), ("^", 3, 3), ("v", 5, 5)), "teammate-aware")


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


def test_a_family_of_some_types_numbers_them_as_named():
    some = Hunters(names=("teammate-aware", "greedy-waiting"))
    for index, name in enumerate(some.names):
        member, same = some.member(jnp.array(index)), Hunters().member(jnp.array(NAMES.index(name)))
        assert jax.tree.leaves(member) == jax.tree.leaves(same)


@pytest.mark.parametrize("names", [("greedy", "keen"), ()])
def test_types_that_do_not_exist_are_refused(names):
    with pytest.raises(UserError, match=r"Scripted hunters are random, .*-waiting; got (greedy, keen|none)\."):
        Hunters(names=names)


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
