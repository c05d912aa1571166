"""Where bodies appear: thousands of starts and arrivals at once."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openteam.errors import UserError
from openteam.worlds.placing import NOWHERE, draw_free
from openteam.worlds.wolfpack import Wolfpack
from openteam.worlds.wolfpack.draw import from_text
from openteam.worlds.wolfpack.start import draw_cells, respawn

MANY, SLOTS, SMALL = 6000, 3, Wolfpack(size=3)


def cells(position):
    return np.asarray(position)[..., 0] * SMALL.size + np.asarray(position)[..., 1]


def assert_uniform(values, of):
    counts = np.array([(np.asarray(values) == value).sum() for value in of])
    assert counts.sum() == np.size(values)
    share = 1 / len(of)
    assert np.abs(counts / counts.sum() - share).max() < 5 * np.sqrt(share / counts.sum())


@pytest.fixture(scope="module")
def starts():
    """Slots 0 and 2, two prey, nine cells."""
    start = jax.jit(jax.vmap(SMALL.start, (0, None)))
    return start(jax.random.split(jax.random.key(0), MANY), jnp.array([True, False, True]))


def test_everybody_starts_on_a_cell_of_its_own(starts):
    where = np.stack([cells(starts.position[:, 0]), cells(starts.position[:, 2]), *cells(starts.prey_position).T], 1)
    assert (np.diff(np.sort(where, 1), axis=1) > 0).all()


def test_every_cell_and_every_pair_of_cells_is_equally_likely(starts):
    first, second = cells(starts.position[:, 2]), cells(starts.prey_position[:, 1])
    for body in (cells(starts.position[:, 0]), first, cells(starts.prey_position[:, 0]), second):
        assert_uniform(body, range(9))
    assert_uniform(first * 9 + second, [a * 9 + b for a in range(9) for b in range(9) if a != b])


def test_prey_start_alive_in_sight_and_facing_up(starts):
    assert not starts.captured.any()
    assert starts.shown.all()
    assert (starts.facing == 0).all()


def test_newcomers_get_any_free_cell_and_one_with_a_captured_prey_is_not_free():
    state = from_text("A ^! . \n . d . \n . . v", slots=4)
    joining = jnp.array([False, True, True, False])
    admit = jax.jit(jax.vmap(SMALL.admit, (0, None, None)))
    after = admit(jax.random.split(jax.random.key(1), MANY), state, joining)
    assert after.present.all()
    assert (after.position[:, jnp.array([0, 3])] == state.position[jnp.array([0, 3])]).all()
    free = [2, 3, 5, 6, 7]
    pairs = cells(after.position[:, 1]) * 9 + cells(after.position[:, 2])
    assert_uniform(pairs, [a * 9 + b for a in free for b in free if a != b])


def test_a_slot_that_changes_hands_leaves_no_body_behind():
    state = from_text("A b c \n d ^ e \n v f g")
    second = jnp.arange(7) == 1
    admit = jax.jit(SMALL.admit)
    after = admit(jax.random.key(0), SMALL.dismiss(state, second), second)
    assert (after.position == state.position).all()  # the only free cell is the one that was left


AGAIN = jax.jit(jax.vmap(partial(respawn, size=3), (0, None)))


def come_back(state):
    return AGAIN(jax.random.split(jax.random.key(2), MANY), state)


def test_captured_prey_come_back_on_any_free_cell_their_own_included():
    state = from_text("A ^! . \n . v! . \n . b .")
    after = come_back(state)
    assert not after.captured.any()
    free = [1, 2, 3, 4, 5, 6, 8]
    pairs = cells(after.prey_position[:, 0]) * 9 + cells(after.prey_position[:, 1])
    assert_uniform(pairs, [a * 9 + b for a in free for b in free if a != b])


def test_in_the_released_code_captured_prey_come_back_on_no_cell_of_a_capture():
    state = from_text("A ^! . \n . v! . \n . b .")
    elsewhere = jax.jit(jax.vmap(partial(respawn, size=3, elsewhere=True), (0, None)))
    after = elsewhere(jax.random.split(jax.random.key(2), MANY), state)
    free = [2, 3, 5, 6, 8]
    pairs = cells(after.prey_position[:, 0]) * 9 + cells(after.prey_position[:, 1])
    assert_uniform(pairs, [a * 9 + b for a in free for b in free if a != b])


def test_prey_that_were_not_captured_stay():
    after = come_back(from_text("A ^! . \n . v . \n . b ."))
    assert (after.prey_position[:, 1] == jnp.array([1, 1])).all()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.permutations(range(12)), st.lists(st.booleans(), min_size=5, max_size=5), st.integers(0, 6))
def test_the_nth_free_cell_is_found_from_the_bodies_alone(order, there, n):
    taken = order[:5]
    free = [cell for cell in range(12) if cell not in {c for c, t in zip(taken, there, strict=True) if t}]
    uniform, bodies = jnp.array([(n + 0.5) / len(free)]), jnp.where(jnp.array(there), jnp.array(taken), NOWHERE)
    assert FREE(uniform, jnp.ones(1, bool), bodies).tolist() == [free[n]]


FREE = jax.jit(partial(draw_free, preferred=12, cells=12))


@pytest.mark.parametrize("uniform", [0.0, float(np.nextafter(np.float32(1), np.float32(0)))])
def test_the_last_free_cells_are_found_whatever_is_drawn(uniform):
    taken = jnp.array([[0, 0], [0, 1], [1, 1]])
    draw = jax.jit(partial(draw_cells, size=2))
    drawn = draw(jnp.full(2, uniform), jnp.ones(2, bool), taken, jnp.array([True, False, True]))
    assert sorted(drawn.tolist()) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("settings", [{"size": 1}, {"prey": 0}])
def test_a_world_that_cannot_be_is_refused_when_it_is_made(settings):
    with pytest.raises(UserError, match="needs size >= 2 and prey >= 1; got size"):
        Wolfpack(**settings)


def test_a_team_that_does_not_fit_is_refused():
    SMALL.check(7)
    with pytest.raises(UserError, match="8 hunters and 2 prey do not fit on a 3x3 grid"):
        SMALL.check(8)
