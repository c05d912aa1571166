"""Places: kept while somebody stays, drawn evenly on arrival, never shared."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.types import Observation
from openteam.errors import UserError
from openteam.models.places import Places, ranks

COUNT, SLOTS, STEPS, ENVS = 5, 3, 400, 8


def observations(seed: int = 0, steps: int = STEPS) -> Observation:
    rng = np.random.default_rng(seed)
    batch = (steps, ENVS)
    return Observation(
        agents=jnp.asarray(rng.integers(8, size=(*batch, SLOTS, 2)), jnp.float32),
        shared=jnp.asarray(rng.integers(8, size=(*batch, 3)), jnp.float32),
        visible=jnp.ones((*batch, SLOTS), bool),
        legal=jnp.ones((*batch, 4), bool),
    )


@partial(jax.jit, static_argnames="shuffled")
def walk(obs: Observation, fresh: jax.Array, shuffled: bool = True) -> jax.Array:
    """Places after each step, ``[time, envs, slots]``."""
    places = Places(COUNT, shuffled)
    start = jax.tree.map(lambda leaf: jnp.stack([leaf] * ENVS), places.start(SLOTS))

    def step(placed, now):
        placed = jax.vmap(places.step)(placed, *now)
        return placed, placed.place

    return jax.lax.scan(step, start, (obs, fresh))[1]


@pytest.fixture(scope="module")
def walked() -> tuple[np.ndarray, np.ndarray]:
    """Many arrivals, one, several or none at a time."""
    fresh = np.random.default_rng(1).random((STEPS, ENVS, SLOTS)) < 0.3
    fresh[0] = True
    return np.asarray(walk(observations(), jnp.asarray(fresh))), fresh


def test_a_teammate_keeps_its_place_while_it_stays_and_the_learner_always_has_the_first(walked):
    place, fresh = walked
    assert (place[..., 0] == 0).all()
    stays = ~fresh[1:, :, 1:]
    np.testing.assert_array_equal(place[1:, :, 1:][stays], place[:-1, :, 1:][stays])
    moved = place[1:, :, 1:][~stays] != place[:-1, :, 1:][~stays]
    assert moved.any()


def test_no_two_agents_ever_share_a_place(walked):
    place, _ = walked
    assert all(len(set(row)) == SLOTS for row in place.reshape(-1, SLOTS).tolist())
    assert place.min() == 0
    assert place.max() == COUNT - 1


def test_unshuffled_newcomers_take_the_first_places_and_a_small_team_never_has_the_last(walked):
    _, fresh = walked
    place = np.asarray(walk(observations(), jnp.asarray(fresh), shuffled=False))
    assert place.max() == SLOTS - 1
    together = fresh[:, :, 1:].all(-1)
    assert (place[together] == np.arange(SLOTS)).all()


def test_newcomers_get_every_free_place_equally_often(walked):
    place, fresh = walked
    together = fresh[:, :, 1:].all(-1)
    pairs = place[together][:, 1:]
    for first in range(1, COUNT):
        for second in range(1, COUNT):
            share = (pairs == (first, second)).all(-1).mean()
            assert abs(share - (first != second) / 12) < 0.05
    alone = fresh[1:, :, 1] & ~fresh[1:, :, 2]
    arrived, holding = place[1:][alone][:, 1], place[1:][alone][:, 2]
    gaps = np.bincount((arrived - holding) % 4, minlength=4) / len(arrived)  # the other's place is one of four
    np.testing.assert_allclose(gaps, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.06)


def test_environments_that_see_different_things_seat_newcomers_differently(walked):
    place, _ = walked
    assert len({tuple(row) for row in place[0].tolist()}) > 1


def test_the_same_memory_and_observation_give_the_same_places():
    obs, fresh = observations(3, 20), jnp.ones((20, ENVS, SLOTS), bool)
    np.testing.assert_array_equal(walk(obs, fresh), walk(obs, fresh))


def test_a_full_table_leaves_one_place_and_that_is_taken():
    places, obs = Places(SLOTS), jax.tree.map(lambda leaf: leaf[0, 0], observations(steps=1))
    after = places.step(places.start(SLOTS), obs, jnp.array([False, False, True]))
    assert after.place.tolist() == [0, 1, 2]


def test_places_that_draw_the_same_number_still_have_an_order():
    chance = jnp.array([7, 7, 3, 7], jnp.uint32)
    assert ranks(chance, jnp.array([True, False, True, True])).tolist() == [1, -1, 0, 2]


def test_rows_come_to_their_places_and_absent_ones_leave_the_placeholder():
    rows = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    seated = Places(4).arrange(rows, jnp.array([0, 3, 1]), jnp.array([True, True, False]), -1.0)
    assert seated.tolist() == [[1, 2], [-1, -1], [-1, -1], [3, 4]]


def test_a_team_larger_than_the_places_is_refused():
    with pytest.raises(UserError, match="places for 2 agents and the team has room for 3"):
        Places(2).start(3)
