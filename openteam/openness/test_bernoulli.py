"""Departures and arrivals by chance: single steps by hand, and many episodes at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.world import AbstractWorldState
from openteam.errors import UserError
from openteam.openness import Bernoulli

EPISODES, STEPS, MANY = 300, 200, 20_000


class Bodies(AbstractWorldState):
    present: jax.Array


def simulate(process, episodes, steps):
    """Arrays [time, episodes, ...]: the process's state and who is present before each step, who leaves and joins."""

    def step(state, key):
        before, present = state
        after, leaving, joining = process.step(key, before, Bodies(present))
        return (after, (present & ~leaving) | joining), (before, present, leaving, joining)

    k_start, k_step = jax.random.split(jax.random.key(0))
    start = jax.vmap(process.start)(jax.random.split(k_start, episodes))
    return jax.lax.scan(jax.vmap(step), start, jax.random.split(k_step, (steps, episodes)))[1]


SIMULATE = jax.jit(simulate, static_argnums=(0, 1, 2))


@pytest.fixture(scope="module", params=[3, 5])
def episodes(request):
    return request.param, jax.tree.map(np.asarray, SIMULATE(Bernoulli(cap=request.param), EPISODES, STEPS))


def test_an_episode_starts_with_the_number_asked_for(episodes):
    assert (episodes[1][1][0].sum(-1) == 3).all()


def test_the_learner_never_leaves_and_is_never_alone_and_the_cap_is_never_exceeded(episodes):
    cap, (_, present, leaving, joining) = episodes
    assert present[..., 0].all()
    assert not (leaving | joining)[..., 0].any()
    assert present.sum(-1).min() == 2
    assert present.sum(-1).max() == cap


def test_nobody_leaves_before_its_time_and_ages_count_steps(episodes):
    _, (age, present, leaving, joining) = episodes
    assert age[leaving].min() == 25  # and this step is the 26th
    assert (age[1:] == np.where(joining[:-1], 0, age[:-1] + 1)).all()
    assert not (leaving & ~present).any()
    assert not (joining & present & ~leaving).any()


def test_mean_team_sizes_are_those_of_the_released_process(episodes):
    cap, (_, present, _, _) = episodes
    assert present.sum(-1).mean() == pytest.approx({3: 2.6, 5: 3.75}[cap], abs=0.1)


STEP = jax.jit(lambda process, *given: jax.vmap(process.step, (0, None, None))(*given), static_argnums=0)
FIVE = Bernoulli(cap=5)


def by_hand(age, present, process=FIVE):
    """One step, thousands of times: who leaves and who joins."""
    keys = jax.random.split(jax.random.key(3), MANY)
    _, leaving, joining = STEP(process, keys, jnp.array(age), Bodies(jnp.array(present, bool)))
    return np.asarray(leaving), np.asarray(joining)


def shares(numbers, highest=4):
    return np.bincount(numbers, minlength=highest + 1) / len(numbers)


def test_one_or_two_leave_now_and_then_and_any_of_those_old_enough():
    leaving, _ = by_hand([99, 30, 30, 3, 30], [1, 1, 1, 1, 1])
    assert shares(leaving.sum(1))[:3] == pytest.approx([0.95, 0.035, 0.015], abs=0.006)
    assert not leaving[:, [0, 3]].any()
    assert leaving[:, [1, 2, 4]].mean(0) == pytest.approx([0.065 / 3] * 3, abs=0.005)


def test_one_or_two_join_now_and_then_apart_from_departures():
    leaving, joining = by_hand([99, 30, 30, 0, 0], [1, 1, 1, 0, 0])
    assert shares(joining.sum(1))[:3] == pytest.approx([0.95, 0.035, 0.015], abs=0.006)
    both = leaving.any(1) & joining.any(1)
    assert both.mean() == pytest.approx(0.05**2, abs=0.0015)


def test_no_more_join_than_there_is_room_for():
    _, joining = by_hand([99, 9, 9, 9, 0], [1, 1, 1, 1, 0])
    assert shares(joining.sum(1))[:2] == pytest.approx([0.95, 0.05], abs=0.006)
    assert not by_hand([99, 9, 9, 9, 9], [1, 1, 1, 1, 1])[1].any()


def test_one_teammate_stays_in_any_case():
    leaving, _ = by_hand([99, 30, 0, 0, 0], [1, 1, 0, 0, 0])
    assert not leaving.any()
    leaving, _ = by_hand([99, 30, 30, 0, 0], [1, 1, 1, 0, 0])
    assert leaving.sum(1).max() == 1


def test_a_place_freed_in_a_step_may_be_taken_in_it():
    always = Bernoulli(cap=3, leave=1.0, join=1.0, two=0.0)
    leaving, joining = by_hand([99, 30, 9], [1, 1, 1], always)
    assert (leaving == [False, True, False]).all()
    assert (joining == leaving).all()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cap": 1, "start_with": 1}, "cap of at least 2"),
        ({"cap": 3, "start_with": 4}, "starts with 1 to cap agents; got cap 3 and start_with 4"),
        ({"leave": 1.5}, "'leave' is a probability between 0 and 1; got 1.5"),
        ({"min_teammates": 3}, "min_teammates between 0 and cap - 1; got 25 and 3"),
    ],
)
def test_a_process_that_cannot_be_is_refused(given, sentence):
    with pytest.raises(UserError, match=sentence):
        Bernoulli(**given)
