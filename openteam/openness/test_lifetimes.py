"""Lifetimes, waits and the queue: exact schedules, single steps by hand, and many episodes at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.errors import UserError
from openteam.openness import Lifetimes
from openteam.openness.lifetimes import Timers, draw_between
from openteam.openness.test_bernoulli import SIMULATE, Bodies
from openteam.tasks import TASKS

EPISODES, STEPS = 400, 130
PAPER = TASKS["lbf"]()
RELEASED = TASKS["lbf-released"]()
# As many places as teammates, so nobody queues: what is seen are the drawn times themselves.
ROOMY = Lifetimes(cap=5, start_low=3, start_high=3, lifetime=(11, 20), wait=(16, 25), grace=1)
EXACT = Lifetimes(cap=3, start_low=3, start_high=3, lifetime=(7, 7), wait=(4, 4), grace=2)
PROCESSES = {
    "paper": PAPER.openness,
    "paper larger": PAPER.split("larger").openness,
    "released": RELEASED.openness,
    "released larger": RELEASED.split("larger").openness,
    "roomy": ROOMY,
    "exact": EXACT,
}


@pytest.fixture(scope="module")
def episodes():
    cache = {}

    def run(name):
        if name not in cache:
            cache[name] = jax.tree.map(np.asarray, SIMULATE(PROCESSES[name], EPISODES, STEPS))
        return cache[name]

    return run


def spells(flags):
    """How long a flag stayed up, for every time it rose and fell again: (whether it was up from the start, steps)."""
    rows = np.moveaxis(flags, 0, -1).reshape(-1, len(flags))
    change = np.diff(np.pad(rows, ((0, 0), (1, 1))).astype(int), axis=1)
    (_, begin), (_, end) = np.nonzero(change == 1), np.nonzero(change == -1)
    # Late ones might be cut by the end of the recording.
    whole = begin < len(flags) - 30
    assert (end[whole] < len(flags)).all()
    return begin[whole] == 0, (end - begin)[whole]


def assert_uniform(values, low, high):
    counts = np.bincount(values, minlength=high + 1)[low : high + 1]
    assert counts.sum() == len(values)
    share = 1 / (high - low + 1)
    assert np.abs(counts / len(values) - share).max() < 5 * np.sqrt(share / len(values))


def test_a_schedule_without_chance_is_kept_to_the_step(episodes):
    timers, _, _, _ = episodes("exact")
    here = timers.slot > 0
    times = np.arange(STEPS)
    # 7 + 2 steps of the first two, then 7 steps of the other two, who wait for 4 + 2 and queue; and so on in turn.
    first = (times < 9) | ((times - 9) % 14 >= 7)
    assert (here[:, :, 0] == first[:, None]).all()
    assert (here[:, :, 1] == first[:, None]).all()
    assert (here[:, :, 2] == ~first[:, None]).all()
    assert (here[:, :, 3] == ~first[:, None]).all()


def test_grace_is_added_only_at_the_start(episodes):
    timers, *_ = episodes("exact")
    initial, lived = spells(timers.slot > 0)
    assert set(lived[initial]) == {9}
    assert set(lived[~initial]) == {7}
    initial, waited = spells((timers.slot == 0) & (timers.left > 0))
    assert set(waited[initial]) == {6}
    assert set(waited[~initial]) == {4}


def test_with_room_a_teammate_plays_its_lifetime_and_is_away_its_wait(episodes):
    timers, *_ = episodes("roomy")
    initial, lived = spells(timers.slot > 0)
    assert_uniform(lived[initial], 12, 21)
    assert_uniform(lived[~initial], 11, 20)
    initial, away = spells(timers.slot == 0)
    assert_uniform(away[initial], 17, 26)
    assert_uniform(away[~initial], 16, 25)


@pytest.mark.parametrize(
    ("name", "first_life", "life", "first_wait", "wait"),
    [
        ("paper", (15, 25), (15, 25), (10, 20), (10, 20)),
        ("released", (12, 21), (11, 20), (17, 26), (16, 25)),
    ],
)
def test_times_of_the_named_tasks_are_those_documented(episodes, name, first_life, life, first_wait, wait):
    timers, *_ = episodes(name)
    here = timers.slot > 0
    initial, drawn = spells(here & (timers.left > 0))
    assert_uniform(drawn[initial], *first_life)
    assert_uniform(drawn[~initial], *life)
    initial, drawn = spells(~here & (timers.left > 0))
    assert_uniform(drawn[initial], *first_wait)
    assert_uniform(drawn[~initial], *wait)


@pytest.mark.parametrize(("name", "life", "away"), [("paper", 15, 10), ("released", 11, 16)])
def test_nobody_plays_less_than_a_lifetime_or_is_away_less_than_a_wait(episodes, name, life, away):
    here = episodes(name)[0].slot > 0
    assert min(spells(here)[1]) == life
    lengths = np.concatenate([np.diff(np.flatnonzero(row)) - 1 for row in here.reshape(STEPS, -1).T])
    assert lengths[lengths > 0].min() == away


@pytest.mark.parametrize("name", PROCESSES)
def test_a_teammate_outstays_its_lifetime_only_where_the_learner_would_be_alone(episodes, name):
    timers, *_ = episodes(name)
    here, kept = timers.slot > 0, PROCESSES[name].min_teammates
    stays = here[:-1] & here[1:]
    overdue = here[:-1] & (timers.left[:-1] <= 1) & stays
    assert (stays.sum(-1)[overdue.any(-1)] == kept).all()
    assert overdue.any() == (kept > 0)


@pytest.mark.parametrize("name", PROCESSES)
def test_nobody_queues_while_there_is_room(episodes, name):
    timers, *_ = episodes(name)
    queuing = (timers.slot == 0) & (timers.left <= 0)
    full = (timers.slot > 0).sum(-1) == timers.cap - 1
    assert full[queuing.any(-1)].all()


@pytest.mark.parametrize("name", PROCESSES)
def test_the_cap_is_never_exceeded_and_the_learner_never_leaves(episodes, name):
    timers, present, leaving, joining = episodes(name)
    assert present.shape[-1] == PROCESSES[name].slots == PROCESSES[name].cap
    assert (present.sum(-1) <= timers.cap).all()
    assert present[..., 0].all()
    assert not leaving[..., 0].any()
    assert not joining[..., 0].any()


@pytest.mark.parametrize("name", PROCESSES)
def test_slots_tell_the_same_as_timers(episodes, name):
    timers, present, leaving, joining = episodes(name)
    sitting = timers.slot[..., None, :] == np.arange(1, present.shape[-1])[:, None]
    assert (sitting.sum(-1) == present[..., 1:]).all()  # one body a slot, and one slot a body
    assert not (leaving & ~present).any()
    assert not (joining & present & ~leaving).any()


@pytest.mark.parametrize("name", ["released", "released larger"])
def test_the_learner_is_never_alone_where_a_teammate_must_stay(episodes, name):
    assert (episodes(name)[1].sum(-1) >= 2).all()


@pytest.mark.parametrize("name", ["paper", "released"])
def test_an_episode_starts_with_the_number_asked_for(episodes, name):
    assert (episodes(name)[1][0].sum(-1) == 3).all()


@pytest.mark.parametrize("name", ["paper larger", "released larger"])
def test_the_number_at_the_start_is_uniform_over_its_range(episodes, name):
    assert_uniform(episodes(name)[1][0].sum(-1), 2, 5)


def test_a_team_grows_beyond_its_start_up_to_the_cap(episodes):
    _, present, _, _ = episodes("paper larger")
    assert (present.sum(-1).max(0)[present[0].sum(-1) == 2] > 2).any()
    assert present.sum(-1).max() == 5


def test_the_number_at_the_start_can_be_the_cap_of_its_episode(episodes):
    _, present, _, _ = episodes("released larger")
    assert (present.sum(-1).max(0) == present[0].sum(-1)).all()


def test_a_place_freed_in_a_step_is_taken_in_the_same_step(episodes):
    _, present, leaving, joining = episodes("exact")
    assert leaving[8, :, 1:].all()
    assert joining[8, :, 1:].all()
    assert present.all()


MANY = 4000
STEP = jax.jit(
    lambda count, *given: jax.vmap(Lifetimes(cap=3, min_teammates=count).step, (0, None, None))(*given),
    static_argnums=0,
)


def by_hand(left, slot, min_teammates=0):
    """One step from given timers, thousands of times: which members have a slot after it, and all results."""
    timers = Timers(jnp.array(left), jnp.array(slot), jnp.array(3))
    keys = jax.random.split(jax.random.key(3), MANY)
    after, leaving, joining = jax.tree.map(np.asarray, STEP(min_teammates, keys, timers, Bodies(jnp.ones(3, bool))))
    return after.slot > 0, after, leaving, joining


def test_who_enters_is_drawn_uniformly_from_the_queue():
    here, _, leaving, joining = by_hand(left=[9, -4, 0, 1], slot=[1, 0, 0, 0])
    assert not leaving.any()
    assert (joining == [False, False, True]).all()
    assert here[:, 0].all()
    assert_uniform(np.nonzero(here[:, 1:])[1], 0, 2)


def test_who_waits_is_not_in_the_queue():
    here, *_ = by_hand(left=[9, 2, 1, 2], slot=[1, 0, 0, 0])
    assert (here == [True, False, True, False]).all()


def test_a_slot_changes_hands_within_one_step():
    here, _, leaving, joining = by_hand(left=[9, 1, 0, 5], slot=[1, 2, 0, 0])
    assert (here == [True, False, True, False]).all()
    assert (leaving == [False, False, True]).all()
    assert (joining == [False, False, True]).all()


def test_one_who_leaves_cannot_come_back_in_the_same_step():
    here, after, _, joining = by_hand(left=[1, 9, 5, 5], slot=[1, 2, 0, 0])
    assert (here == [False, True, False, False]).all()
    assert not joining.any()
    assert_uniform(after.left[:, 0], 10, 20)


def test_all_whose_time_is_over_leave_when_nobody_must_stay():
    here, _, leaving, _ = by_hand(left=[1, -3, 5, 5], slot=[2, 1, 0, 0])
    assert not here.any()
    assert (leaving == [False, True, True]).all()


def test_who_must_stay_is_drawn_uniformly_and_stays_due():
    here, after, _, _ = by_hand(left=[1, -3, 5, 5], slot=[2, 1, 0, 0], min_teammates=1)
    assert (here.sum(1) == 1).all()
    assert_uniform(np.nonzero(here)[1], 0, 1)
    assert (after.left[:, :2][here[:, :2]] <= 0).all()


def test_the_last_teammate_stays_even_if_another_enters_in_that_step():
    here, *_ = by_hand(left=[1, 0, 5, 5], slot=[1, 0, 0, 0], min_teammates=1)
    assert (here == [True, True, False, False]).all()


def test_drawn_times_are_uniform_with_both_ends():
    drawn = np.asarray(draw_between(jnp.arange(6000) / 6000, 15, 25))
    assert_uniform(drawn, 15, 25)
    assert draw_between(jnp.nextafter(jnp.ones(()), jnp.zeros(())), 15, 25) == 25


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cap": 1, "start_low": 1, "start_high": 1}, "a cap of at least 2, the learner and a teammate; got 1"),
        ({"start_low": 0}, "must start with 1 to cap = 3 agents; got start_low 0 and start_high 3"),
        ({"start_high": 4}, "got start_low 3 and start_high 4"),
        ({"start_low": 3, "start_high": 2}, "got start_low 3 and start_high 2"),
        ({"cap": 6}, "A cap of 6 needs at least 5 potential teammates; got 4"),
        ({"lifetime": (0, 5)}, "A lifetime is a range of steps, 1 <= low <= high; got 0 to 5"),
        ({"wait": (5, 4)}, "A wait is a range of steps, 1 <= low <= high; got 5 to 4"),
        ({"grace": -1}, "grace must be at least 0"),
        ({"min_teammates": 3}, "min_teammates between 0 and cap - 1; got 0 and 3"),
    ],
)
def test_a_process_that_cannot_be_is_refused(options, sentence):
    with pytest.raises(UserError, match=sentence):
        Lifetimes(**options)
