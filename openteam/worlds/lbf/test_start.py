"""Where bodies and food appear, and with what levels: thousands of starts and arrivals at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.errors import UserError
from openteam.worlds.lbf import Foraging
from openteam.worlds.lbf.draw import from_text
from openteam.worlds.lbf.start import food_forbidden, place_food
from openteam.worlds.placing import coordinates, draw_cell, number, place_agents

WORLD = Foraging()
MANY, SLOTS = 8192, 5


@pytest.fixture(scope="module")
def starts():
    """Teams of 1 to 5, in random slots."""
    k_team, k_start = jax.random.split(jax.random.key(0))
    order = jax.random.uniform(k_team, (MANY, SLOTS))
    size = 1 + jnp.arange(MANY) % SLOTS
    present = jnp.argsort(jnp.argsort(order, 1), 1) < size[:, None]
    state = jax.jit(jax.vmap(WORLD.start))(jax.random.split(k_start, MANY), present)
    return jax.tree.map(np.asarray, (present, state))


def cells(position, size=8):
    return position[..., 0] * size + position[..., 1]


def share(values, of):
    """How often each of ``of`` occurs, and the largest error chance allows: five standard deviations."""
    counts = np.array([(values == value).sum() for value in of])
    assert counts.sum() == np.size(values)
    return counts / counts.sum(), 5 * np.sqrt(1 / len(of) / counts.sum())


def assert_uniform(values, of):
    found, error = share(np.asarray(values), of)
    assert np.abs(found - 1 / len(of)).max() < error


def test_exactly_those_asked_for_are_present(starts):
    present, state = starts
    assert (state.present == present).all()


def test_agents_start_on_distinct_cells(starts):
    present, state = starts
    where = np.where(present, cells(state.position), -1 - np.arange(SLOTS))
    assert all(len(set(row)) == SLOTS for row in where.tolist())


def test_agents_never_start_on_the_last_row_or_column_and_everywhere_else(starts):
    present, state = starts
    where = state.position[present]
    assert where.max() == WORLD.size - 2
    assert where.min() == 0


def test_a_lone_agent_starts_on_any_inner_cell_alike(starts):
    present, state = starts
    alone = present & (present.sum(1, keepdims=True) == 1)
    assert_uniform(state.position[alone][:, 0], range(7))
    assert_uniform(state.position[alone][:, 1], range(7))


def test_levels_of_agents_are_uniform_over_1_and_2(starts):
    present, state = starts
    assert_uniform(state.level[present], (1, 2))


def test_every_food_finds_room_and_stands_in_row_major_order(starts):
    _, state = starts
    assert (state.food_level > 0).all()
    assert (np.diff(cells(state.food_position), axis=1) > 0).all()


def test_food_never_stands_on_the_border(starts):
    _, state = starts
    assert state.food_position.min() == 1
    assert state.food_position.max() == WORLD.size - 2


def test_food_never_stands_on_an_agent(starts):
    present, state = starts
    same = cells(state.position)[:, :, None] == cells(state.food_position)[:, None, :]
    assert not (same & present[:, :, None]).any()


def test_foods_keep_their_distance_so_no_cell_is_beside_two(starts):
    _, state = starts
    gap = np.abs(state.food_position[:, :, None] - state.food_position[:, None])[:, ~np.eye(3, dtype=bool)]
    assert not (gap <= 1).all(-1).any()
    assert not ((gap.min(-1) == 0) & (gap.max(-1) <= 2)).any()
    assert gap.sum(-1).min() == 3


@pytest.mark.parametrize("total", [1, 2, 3, 4, 6, 8])
def test_levels_of_food_are_uniform_below_the_summed_level_of_the_team(starts, total):
    present, state = starts
    summed = (state.level * present).sum(1)
    assert_uniform(state.food_level[summed == total], range(1, max(total, 2)))


def test_a_cell_too_near_a_food_is_in_its_box_or_two_steps_along_its_row_or_column():
    drawn = """
        . . . . . . .
        . . . x . . .
        . . x x x . .
        . x x x x x .
        . . x x x . .
        . . . x . . .
        . . . . . . ."""
    forbidden = np.array([[cell == "x" for cell in row.split()] for row in drawn.strip().splitlines()])
    assert (np.asarray(food_forbidden(jnp.array([3, 3]), 7)) == forbidden).all()


def test_food_without_room_does_not_exist_and_comes_last():
    cell, room = jax.jit(place_food)(jnp.array([0.5, 0.1, 0.9]), jnp.zeros((3, 3), bool))
    assert room.tolist() == [True, False, False]
    assert cell[0].tolist() == [1, 1]


@pytest.mark.parametrize("uniform", [0.0, 0.3, 0.5, 0.999999, float(np.nextafter(np.float32(1), np.float32(0)))])
def test_a_drawn_cell_is_always_an_allowed_one(uniform):
    allowed = np.random.default_rng(0).random((200, 8, 8)) < 0.1
    allowed[:, 2, 3] = True
    drawn = np.asarray(jax.jit(jax.vmap(draw_cell, (None, 0)))(jnp.asarray(uniform), jnp.asarray(allowed)))
    assert allowed[np.arange(200), drawn[:, 0], drawn[:, 1]].all()


def test_allowed_cells_are_drawn_alike():
    allowed = np.zeros((4, 4), bool)
    allowed[[0, 0, 1, 3, 3], [1, 3, 2, 0, 3]] = True
    drawn = jax.jit(jax.vmap(draw_cell, (0, None)))(jnp.arange(4000) / 4000, jnp.asarray(allowed))
    assert_uniform(cells(np.asarray(drawn), 4), np.flatnonzero(allowed))


def test_cells_are_numbered_once_with_the_last_row_and_column_at_the_end():
    grid = jnp.stack(jnp.meshgrid(jnp.arange(4), jnp.arange(4), indexing="ij"), -1)
    numbers = np.asarray(number(grid, 4))
    assert sorted(numbers.ravel().tolist()) == list(range(16))
    assert numbers[:3, :3].max() == 8
    assert (np.asarray(coordinates(jnp.asarray(numbers), 4)) == np.asarray(grid)).all()


def test_the_last_row_and_column_are_used_alike_when_nothing_else_is_free():
    taken = jnp.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])
    nobody, someone = jnp.array([False]), jnp.array([True])

    def place(uniform):
        nowhere = jnp.zeros((1, 2), jnp.int32)
        return place_agents(uniform[None], nowhere, nobody, someone, taken, jnp.ones(5, bool), 3)[0]

    drawn = jax.jit(jax.vmap(place))(jnp.arange(4000) / 4000)
    assert_uniform(cells(np.asarray(drawn), 3), (2, 5, 7, 8))


def test_two_bodies_on_one_cell_take_one_cell():
    bodies = jnp.array([[0, 0], [1, 1], [1, 1]])
    joining = jnp.array([True, False, False])

    def place(uniform):
        nothing = jnp.zeros((0, 2), jnp.int32)
        return place_agents(uniform.repeat(3), bodies, ~joining, joining, nothing, jnp.zeros(0, bool), 4)[0]

    drawn = jax.jit(jax.vmap(place))(jnp.arange(4000)[:, None] / 4000)
    assert_uniform(cells(np.asarray(drawn), 4), (0, 1, 2, 4, 6, 8, 9, 10))


SMALL = Foraging(size=4)
ADMIT = jax.jit(jax.vmap(SMALL.admit, (0, None, None)))


def arrive(state, joining):
    """The same arrival, thousands of times."""
    return jax.tree.map(np.asarray, ADMIT(jax.random.split(jax.random.key(1), 4000), state, jnp.array(joining)))


@pytest.fixture(scope="module")
def arrivals():
    """Slots 1 and 3 join on a grid with little room; slot 2 is there, slot 4 stays away."""
    state = from_text(". . A2 . \n . 4 . . \n . . c2 . \n . . . .", slots=5, foods=3)
    joining = np.array([False, True, False, True, False])
    return state, joining, arrive(state, joining)


def test_those_who_join_are_present_and_nobody_else_is_touched(arrivals):
    state, joining, after = arrivals
    assert (after.present == (np.asarray(state.present) | joining)).all()
    assert (after.position == np.asarray(state.position))[:, ~joining].all()
    assert (after.level == np.asarray(state.level))[:, ~joining].all()
    assert (after.food_level == np.asarray(state.food_level)).all()
    assert (after.food_position == np.asarray(state.food_position)).all()


def test_a_newcomer_gets_a_new_level(arrivals):
    _, joining, after = arrivals
    assert_uniform(after.level[:, joining], (1, 2))


def test_a_newcomer_gets_any_free_cell_off_the_last_row_and_column_alike(arrivals):
    # Taken are A, c and the food that is left; an eaten food at (0, 0) does not count.
    _, _, after = arrivals
    free = [cell for cell in range(16) if cell % 4 < 3 and cell < 12 and cell not in (2, 10, 5)]
    assert_uniform(cells(after.position[:, 1], 4), free)
    assert_uniform(cells(after.position[:, 3], 4), free)
    assert (cells(after.position[:, 1], 4) != cells(after.position[:, 3], 4)).all()


def test_a_slot_that_changes_hands_leaves_no_body_behind():
    state = from_text("A1 . b2 . \n . 2 . . \n c1 . 1 . \n . . . .", slots=5, foods=3)
    second = np.array([False, True, False, False, False])
    dismissed = SMALL.dismiss(state, jnp.asarray(second))
    assert dismissed.present.tolist() == [True, False, True, False, False]
    after = arrive(dismissed, second)
    assert set(cells(after.position[:, 1], 4).tolist()) == {1, 2, 4, 6, 9}


@pytest.mark.parametrize("settings", [{"size": 2}, {"size": -1}, {"foods": 0}, {"max_level": 0}])
def test_a_world_that_cannot_be_is_refused_when_it_is_made(settings):
    with pytest.raises(UserError, match="needs size >= 3, foods >= 1 and max_level >= 1; got size"):
        Foraging(**settings)


def test_a_team_that_does_not_fit_is_refused():
    Foraging(size=5, foods=1).check(9)
    with pytest.raises(UserError, match="10 agents may leave no room for food"):
        Foraging(size=5, foods=1).check(10)
    with pytest.raises(UserError, match="9 agents do not fit on a 3x3 grid with 1 foods: at most 8 cells are free"):
        Foraging(size=3, foods=1).check(9)
