"""What each scripted navigator goes for, on hand-drawn grids and on many random ones, and how it gets there.

The acting teammate is always ``b``.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.random import key
from openteam.core.types import first_view
from openteam.errors import UserError
from openteam.teammates.navigators import Navigators
from openteam.views import FullView
from openteam.worlds.navigation import ACTION_NAMES, Navigation
from openteam.worlds.navigation.draw import from_text
from tests.scripts import Scripts

NAMES = Navigators().names
WORLD = Navigation(size=6)
SCRIPTS = Scripts(Navigators(), WORLD, partial(from_text, slots=3), "choose_destination", ACTION_NAMES)
decisions, goes_for, does, acts_at_random = SCRIPTS.decisions, SCRIPTS.goes_for, SCRIPTS.does, SCRIPTS.acts_at_random


# With two destinations H2 and H3 never agree, so everybody else agrees with one of them: it takes two situations to
# tell the types apart.
BESIDE = """
    .  .  .  .  c  .
    .  .  .  .  *  b
    .  .  .  .  .  A
    .  .  .  .  .  .
    .  *  .  .  .  .
    .  .  .  .  .  ."""
SCATTERED = """
    .  .  .  .  .  .
    c  .  .  .  *  .
    .  .  .  .  .  A
    .  .  .  .  .  .
    .  *  .  b  .  .
    .  .  .  .  .  ."""
CHOICES = {
    "H1 takes the destination nearest to itself": ((1, 4), (4, 1)),
    "H2 takes the destination farthest from the centre of the team": ((4, 1), (4, 1)),
    "H3 takes the destination nearest to the centre of the team": ((1, 4), (1, 4)),
    "H4 takes the destination farthest from the agent farthest from itself": ((4, 1), (1, 4)),
}


@pytest.mark.parametrize("rule", CHOICES)
def test_each_type_chooses_as_no_other_type_would(rule):
    chosen = {name: (goes_for(BESIDE, name), goes_for(SCATTERED, name)) for name in NAMES}
    assert chosen[rule[:2]] == CHOICES[rule]
    assert list(chosen.values()).count(CHOICES[rule]) == 1


def test_h2_alone_leaves_its_team_mates_destination():
    grid = ". . . . . b \n . . . . * . \n c . . A . . \n . . . . . . \n . * . . . . \n . . . . . ."
    assert [goes_for(grid, name) for name in NAMES] == [(1, 4), (4, 1), (1, 4), (1, 4)]


def test_h3_alone_joins_the_others_far_from_itself():
    grid = ". . . . A . \n . . . . * . \n b . . . c . \n . . . . . . \n . * . . . . \n . . . . . ."
    assert [goes_for(grid, name) for name in NAMES] == [(4, 1), (4, 1), (1, 4), (4, 1)]


def test_only_who_is_present_counts():
    alone = BESIDE.replace("A", ".").replace("c", ".")
    assert [goes_for(alone, name) for name in NAMES] == [(1, 4), (4, 1), (1, 4), (4, 1)]


def test_of_equals_the_first_in_row_major_order_counts():
    grid = ". . . . . . \n . * . . . . \n A . b . . . \n . * . . . . \n c . . . . . \n . . . . . ."
    for name in ("H1", "H4"):
        assert goes_for(grid.replace("c", "."), name) == (1, 1)


def test_h4_draws_among_agents_that_are_equally_far():
    grid = "A . . . . . \n . * . . . . \n . . b . . . \n . * . . . . \n c . . . . . \n . . . . . ."
    cells, actions = decisions(grid, "H4")
    assert cells == {(1, 1), (3, 1)}
    assert actions == pytest.approx({"north": 0.5, "south": 0.5}, abs=0.06)


@pytest.mark.parametrize(
    ("cell", "action"),
    [((4, 3), "north"), ((0, 1), "south"), ((2, 4), "west"), ((2, 0), "east"), ((3, 2), "north")],
)
def test_rows_come_before_columns(cell, action):
    cells = np.full((6, 6), ".", object)
    cells[2, 2], cells[5, 5], cells[cell] = "*", "A*", "b"
    assert does("\n".join(" ".join(line) for line in cells)) == action


def test_agents_in_the_way_are_walked_into():
    grid = ". . . . . . \n . b . . . . \n . A . . . . \n . * . . * . \n . . . . . . \n . . . . . ."
    assert does(grid) == "south"


def test_nobody_waits_on_its_destination():
    grid = "b* . . . . . \n . . . . . . \n . . . . . . \n . . . * . . \n . . . . . . \n . . . . . A"
    acts_at_random(grid, "H1", ["none", "south", "east"])


def test_on_a_destination_that_is_not_its_own_one_walks_on():
    grid = "b* . . . . . \n . . . . . . \n . . . . . . \n . . . * . . \n . . . . . . \n . . . . . A"
    assert does(grid, "H3") == "south"


def does_often(name, grid):
    """The shares of the actions of one of the two types that wait."""
    obs = FullView()(key(0), WORLD, from_text(grid, slots=3), jnp.array(1))
    member = Navigators((name,)).member(jnp.array(0))
    actions = jax.vmap(lambda k: member.act(k, member.start(3), first_view(obs))[0])(jax.random.split(key(1), 1000))
    shares = np.bincount(np.asarray(actions), minlength=5) / 1000
    return {ACTION_NAMES[a]: shares[a] for a in np.flatnonzero(shares)}


def test_one_that_avoids_walks_up_to_the_nearest_destination_and_never_steps_on_it():
    far = ". . . . . . \n . * . . . . \n . . . . . . \n . b . . . . \n . . . . * . \n . . . . . A"
    beside = ". . . . . . \n . * . . . . \n . b . . . . \n . . . . . . \n . . . . * . \n . . . . . A"
    assert does_often("avoids", far) == {"north": 1}
    assert does_often("avoids", beside) == {"none": 1}


def test_one_that_camps_goes_to_the_nearest_destination_and_stays_but_for_random_steps():
    member = Navigators(("camps",)).member(jnp.array(0))
    far = ". . . . . . \n . * . . . . \n . . . . . . \n . b . . . . \n . . . . * . \n . . . . . A"
    on = ". . . . . . \n . b* . . . . \n . . . . . . \n . . . . . . \n . . . . * . \n . . . . . A"
    for grid, action, chance in ((far, "north", float(member.wavers)), (on, "none", float(member.leaves))):
        expected = dict.fromkeys(ACTION_NAMES, chance / 5)
        expected[action] += 1 - chance
        assert does_often("camps", grid) == pytest.approx(expected, abs=0.06)


def hide(text, *hidden):
    return WORLD.hide(from_text(text, slots=3), jnp.zeros(3, bool), jnp.array(hidden))


@pytest.mark.parametrize("name", NAMES)
def test_the_only_destination_in_sight_is_taken_and_without_any_everybody_acts_at_random(name):
    assert goes_for(hide(BESIDE, True, False), name) == (4, 1)
    assert goes_for(hide(BESIDE, False, True), name) == (1, 4)
    assert goes_for(hide(BESIDE, True, True), name) == (-1, -1)
    acts_at_random(hide(BESIDE, True, True), name, ["none", "north", "south", "west"])


def test_a_family_of_some_types_numbers_them_as_named():
    some = Navigators(names=("H4", "H2"))
    for index, name in enumerate(some.names):
        member, same = some.member(jnp.array(index)), Navigators().member(jnp.array(NAMES.index(name)))
        assert jax.tree.leaves(member) == jax.tree.leaves(same)


def test_every_type_has_its_own_sentence():
    assert Navigators(names=("H4", "H2")).sentences == (Navigators().sentences[3], Navigators().sentences[1])
    assert len(set(Navigators().sentences)) == 4


@pytest.mark.parametrize("names", [("H1", "H5"), ()])
def test_types_that_do_not_exist_are_refused(names):
    with pytest.raises(UserError, match=r"Scripted navigators are H1, .*, H4, avoids, camps; got (H1, H5|none)\."):
        Navigators(names=names)


def best(cells, origin, sign):
    return min(cells, key=lambda cell: (sign * ((cell[0] - origin[0]) ** 2 + (cell[1] - origin[1]) ** 2), cell))


def restated(name, me, team, cells):
    """All destinations that a type might go for, said once more in plain Python."""
    centre = [round(sum(agent[axis] for agent in team) / len(team)) for axis in (0, 1)]
    gaps = [(agent[0] - me[0]) ** 2 + (agent[1] - me[1]) ** 2 for agent in team]
    far = [agent for agent, gap in zip(team, gaps, strict=True) if gap == max(gaps)]
    return {
        "H1": lambda: [best(cells, me, 1)],
        "H2": lambda: [best(cells, centre, -1)],
        "H3": lambda: [best(cells, centre, 1)],
        "H4": lambda: [best(cells, agent, -1) for agent in far],
    }[name]()


def test_on_random_grids_every_type_goes_where_plain_rules_say():
    rng, grids = np.random.default_rng(0), 500
    order = np.argsort(rng.random((grids, 36)), 1)[:, :5]
    order[:, 3:].sort(1)
    cells = np.stack([order // 6, order % 6], -1).astype(np.int32)
    present = np.stack([np.ones(grids, bool), np.ones(grids, bool), rng.random(grids) < 0.7], 1)
    leaves = [jnp.asarray(leaf) for leaf in (present, cells[:, :3], cells[:, 3:])]
    states = jax.tree.unflatten(jax.tree.structure(from_text(BESIDE)), leaves)
    choose = jax.jit(jax.vmap(lambda state: SCRIPTS.decide(state, 1)))
    chosen = np.asarray(choose(states)[0])[:, :, 0]
    for grid in range(grids):
        agents, targets = cells[grid, :3].tolist(), [tuple(cell) for cell in cells[grid, 3:].tolist()]
        team = [agents[j] for j in (1, 0, 2) if present[grid, j]]
        for index, name in enumerate(NAMES):
            assert tuple(chosen[grid, index].tolist()) in restated(name, agents[1], team, targets), (name, agents)
