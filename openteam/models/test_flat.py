"""The flat observation: everybody at a place, and nothing of whom the learner does not see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.types import Observation, Spec
from openteam.models.flat import Flat
from openteam.models.places import Places

SLOTS = 3
FLAT = Flat(Places(5))
NOBODY = jnp.zeros(SLOTS, bool)


def look(seed, *visible):
    """A random observation in which these slots are seen."""
    rng = np.random.default_rng(seed)
    seen = np.isin(np.arange(SLOTS), (0, *visible))
    rows = np.where(seen[:, None], rng.integers(1, 9, (SLOTS, 2)), 0)
    shared = rng.integers(1, 9, 3)
    return Observation(jnp.float32(rows), jnp.float32(shared), jnp.asarray(seen), jnp.ones(4, bool))


def slots(*numbers):
    return NOBODY.at[jnp.array(numbers)].set(True)


@pytest.fixture(scope="module")
def step():
    return jax.jit(FLAT.step)


def test_rows_sit_at_their_places_and_the_shared_features_come_last():
    obs = look(0, 2)
    flat = FLAT(obs, jnp.array([0, 4, 2]))
    assert FLAT.size(Spec(agent_features=2, shared_features=3, actions=4)) == len(flat)
    expected = np.full((5, 2), -1.0)
    expected[0], expected[2] = obs.agents[0], obs.agents[2]
    np.testing.assert_array_equal(flat, [*expected.ravel(), *obs.shared])


def test_who_joins_in_sight_gets_a_new_place_and_everybody_does_when_an_episode_starts(step):
    def moved(fresh, *visible):
        """Whose place changed at least once in several tries."""
        places = [step(FLAT.start(SLOTS), look(seed, *visible), fresh).place for seed in range(20)]
        return (np.stack(places) != np.arange(SLOTS)).any(0).tolist()

    assert moved(slots(1), 1, 2) == [False, True, False]
    assert moved(~NOBODY, 1) == [False, True, True]


def test_that_somebody_joins_out_of_sight_changes_nothing(step):
    for seed in range(5):
        placed = step(FLAT.start(SLOTS), look(seed), ~NOBODY)
        told = step(placed, look(seed + 5, 2), slots(1))
        not_told = step(placed, look(seed + 5, 2), NOBODY)
        jax.tree.map(np.testing.assert_array_equal, told, not_told)
