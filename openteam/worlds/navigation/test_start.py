"""Where agents and destinations appear."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from openteam.errors import UserError
from openteam.worlds.navigation import Navigation
from openteam.worlds.navigation.start import draw_destinations, row_major

MANY = 20_000


@partial(jax.jit, static_argnums=(2, 3))
def draw(key, agents, size, apart):
    present = jnp.arange(len(agents)) < 4
    one = partial(draw_destinations, position=agents, present=present, kept=agents[:0], size=size, apart=apart)
    drawn = jax.vmap(one)(jax.random.uniform(key, (MANY, 2)))
    return jax.vmap(partial(row_major, places=2, size=size))(drawn)


@pytest.fixture(scope="module")
def starts():
    present = jnp.array([True, True, False])
    start = jax.jit(jax.vmap(lambda key: Navigation().start(key, present)))
    return jax.tree.map(np.asarray, start(jax.random.split(jax.random.key(0), MANY)))


def test_agents_start_apart_and_never_on_the_last_row_or_column(starts):
    assert starts.position[:, :2].max() == 10
    assert starts.position[:, :2].min() == 0
    assert (starts.position[:, 0] != starts.position[:, 1]).any(-1).all()


def test_destinations_start_inside_and_away_from_agents(starts):
    assert starts.destination.min() == 1
    assert starts.destination.max() == 10
    for slot in (0, 1):
        assert (starts.destination != starts.position[:, slot, None]).any(-1).all()


def test_destinations_are_often_but_not_always_far_apart(starts):
    gap = np.abs(starts.destination[:, 0] - starts.destination[:, 1]).max(-1)
    assert gap.min() == 2
    assert 0.45 < (gap > 4).mean() < 0.65


def test_pairs_are_drawn_as_rejection_would_draw_them():
    # Two share a cell, one stands at the border, the last is absent.
    agents = jnp.array([[1, 1], [2, 3], [2, 3], [4, 5], [4, 4]])
    drawn = np.asarray(draw(jax.random.key(1), agents, 6, 2)) @ [6, 1]
    inner = [(row, column) for row in range(1, 5) for column in range(1, 5) if (row, column) not in [(1, 1), (2, 3)]]
    expected, found = np.zeros((36, 36)), np.zeros((36, 36))
    for one in inner:
        rest = [two for two in inner if max(abs(one[0] - two[0]), abs(one[1] - two[1])) >= 2]
        for two in rest:
            a, b = sorted((one[0] * 6 + one[1], two[0] * 6 + two[1]))
            expected[a, b] += 1 / len(inner) / len(rest)
    np.add.at(found, (drawn[:, 0], drawn[:, 1]), 1)
    possible = expected > 0
    assert found[~possible].sum() == 0
    assert stats.chisquare(found[possible], expected[possible] * MANY).pvalue > 1e-3


@pytest.mark.parametrize("apart", [1, 4])
def test_the_least_distance_can_be_set(apart):
    drawn = np.asarray(draw(jax.random.key(2), jnp.zeros((5, 2), int), 10, apart))
    assert np.abs(drawn[:, 0] - drawn[:, 1]).max(-1).min() == apart


@pytest.mark.parametrize(("size", "apart", "slots"), [(2, 2, 2), (5, 2, 2), (12, 6, 2), (6, 2, 7)])
def test_a_grid_without_room_is_refused(size, apart, slots):
    with pytest.raises(UserError, match="may find no room"):
        Navigation(size=size, apart=apart).check(slots)


@pytest.mark.parametrize(("size", "apart", "slots"), [(12, 2, 5), (12, 5, 5), (6, 2, 6)])
def test_a_grid_with_room_is_accepted(size, apart, slots):
    Navigation(size=size, apart=apart).check(slots)


@pytest.mark.parametrize("settings", [{"size": 0}, {"apart": 0}, {"penalty": -1.0}])
def test_nonsense_numbers_are_refused_when_the_world_is_made(settings):
    with pytest.raises(UserError, match="needs size >= 1, apart >= 1 and penalty >= 0"):
        Navigation(**settings)


def test_row_major_order_puts_places_without_a_destination_last():
    cells = jnp.array([[3, 1], [-1, -1], [0, 4], [3, 0]])
    assert row_major(cells, 5, 6).tolist() == [[0, 4], [3, 0], [3, 1], [-1, -1], [-1, -1]]
    assert row_major(cells, 2, 6).tolist() == [[0, 4], [3, 0]]


def test_new_destinations_keep_apart_from_those_that_are_left():
    # Of the inner cells of a 6x6 grid only one corner is two away from all three.
    kept = jnp.array([[2, 2], [-1, -1], [2, 4], [4, 2]])
    first = draw_destinations(jnp.array([0.3, 0.8]), jnp.zeros((2, 2), int), jnp.ones(2, bool), kept, 6, 2)[0]
    assert first.tolist() == [4, 4]


@pytest.mark.parametrize("settings", [{"most": 1, "count_agents": True}, {"most": 3}])
def test_places_for_more_destinations_belong_to_the_rule_that_counts_agents(settings):
    with pytest.raises(UserError, match="places for more if count_agents"):
        Navigation(**settings)
