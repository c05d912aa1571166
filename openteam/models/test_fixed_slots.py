"""Fixed slots: kept while somebody stays, drawn evenly on arrival, never shared."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core import random
from openteam.core.types import Observation, Spec
from openteam.errors import UserError
from openteam.models.fixed_slots import AnySlots, FixedSlots, FlatObservation, fixed_size

COUNT, SLOTS, STEPS, ENVS = 5, 3, 400, 8


@partial(jax.jit, static_argnames="shuffled")
def walk(fresh: jax.Array, shuffled: bool = True) -> jax.Array:
    """Entries after each step, ``[time, envs, slots]``."""
    fixed = FixedSlots(COUNT, shuffled)
    start = jax.tree.map(lambda leaf: jnp.stack([leaf] * ENVS), fixed.start(SLOTS))

    def step(now, inputs):
        (order, entry), (keys, fresh) = now, inputs
        entry = jax.vmap(fixed.step)(order, entry, fresh)
        return (jax.vmap(fixed.draw)(keys), entry), entry

    return jax.lax.scan(step, start, (jax.random.split(random.key(0), fresh.shape[:2]), fresh))[1]


@pytest.fixture(scope="module")
def walked() -> tuple[np.ndarray, np.ndarray]:
    """Many arrivals, one, several or none at a time."""
    fresh = np.random.default_rng(1).random((STEPS, ENVS, SLOTS)) < 0.3
    fresh[0] = True
    return np.asarray(walk(jnp.asarray(fresh))), fresh


def test_a_teammate_keeps_its_entry_while_it_stays_and_the_learner_always_has_the_first(walked):
    entry, fresh = walked
    assert (entry[..., 0] == 0).all()
    stays = ~fresh[1:, :, 1:]
    np.testing.assert_array_equal(entry[1:, :, 1:][stays], entry[:-1, :, 1:][stays])
    moved = entry[1:, :, 1:][~stays] != entry[:-1, :, 1:][~stays]
    assert moved.any()


def test_no_two_agents_ever_share_an_entry(walked):
    entry, _ = walked
    assert all(len(set(row)) == SLOTS for row in entry.reshape(-1, SLOTS).tolist())
    assert entry.min() == 0
    assert entry.max() == COUNT - 1


def test_unshuffled_newcomers_take_the_first_entries_and_a_small_team_never_has_the_last(walked):
    _, fresh = walked
    entry = np.asarray(walk(jnp.asarray(fresh), shuffled=False))
    assert entry.max() == SLOTS - 1
    together = fresh[:, :, 1:].all(-1)
    assert (entry[together] == np.arange(SLOTS)).all()


def test_newcomers_get_every_free_entry_equally_often(walked):
    entry, fresh = walked[0][1:], walked[1][1:]  # the first order of all is not drawn
    together = fresh[:, :, 1:].all(-1)
    pairs = entry[together][:, 1:]
    for first in range(1, COUNT):
        for second in range(1, COUNT):
            share = (pairs == (first, second)).all(-1).mean()
            assert abs(share - (first != second) / 12) < 0.05
    alone = fresh[:, :, 1] & ~fresh[:, :, 2]
    arrived, holding = entry[alone][:, 1], entry[alone][:, 2]
    gaps = np.bincount((arrived - holding) % 4, minlength=4) / len(arrived)  # the other's entry is one of four
    np.testing.assert_allclose(gaps, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.06)


def test_environments_draw_for_themselves():
    together = walk(jnp.ones((2, ENVS, SLOTS), bool))[1]
    assert len({tuple(row) for row in together.tolist()}) > 1


def test_a_full_list_leaves_one_entry_and_that_is_taken():
    after = FixedSlots(SLOTS).step(jnp.zeros(SLOTS), jnp.arange(SLOTS), jnp.array([False, False, True]))
    assert after.tolist() == [0, 1, 2]


def test_entries_of_the_same_order_still_are_taken_one_by_one():
    entry = jnp.array([0, 2, -1, -1])
    after = FixedSlots(4).step(jnp.array([7.0, 7.0, 3.0, 7.0]), entry, jnp.array([False, False, True, True]))
    assert after.tolist() == [0, 2, 1, 3]


def test_rows_come_to_their_entries_and_absent_ones_leave_the_placeholder():
    rows = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    arranged = FixedSlots(4).arrange(rows, jnp.array([0, 3, 1]), jnp.array([True, True, False]), -1.0)
    assert arranged.tolist() == [[1, 2], [-1, -1], [-1, -1], [3, 4]]


def test_the_flat_observation_has_rows_at_their_entries_and_the_shared_features_last():
    flat = FlatObservation(FixedSlots(5))
    visible = jnp.array([True, False, True])
    obs = Observation(jnp.arange(1.0, 7.0).reshape(3, 2), jnp.array([7.0, 8.0, 9.0]), visible, jnp.ones(4, bool))
    inputs = flat(obs, jnp.array([0, 4, 2]))
    assert flat.size(Spec(agent_features=2, shared_features=3, actions=4)) == len(inputs)
    assert inputs.tolist() == [1, 2, -1, -1, 5, 6, -1, -1, -1, -1, 7, 8, 9]


def test_a_team_of_any_size_has_no_entries():
    order, entry = AnySlots().start(1000)
    assert AnySlots().step(order, entry, jnp.ones(1000, bool)) == AnySlots().draw(random.key(0)) == ()


def test_a_team_larger_than_the_list_is_refused():
    with pytest.raises(UserError, match="at most 2 agents and the team has room for 3"):
        FixedSlots(2).start(3)


def test_the_list_is_as_long_as_the_largest_team_unless_the_learner_says_otherwise():
    spec = Spec(1, 1, 2, max_agents=6)
    assert fixed_size("PPO", None, spec) == 6
    assert fixed_size("PPO", 4, spec) == 4
    with pytest.raises(UserError, match="set max_agents"):
        fixed_size("PPO", None, Spec(1, 1, 2))
