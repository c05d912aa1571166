"""What each event is worth, to guards and to attackers."""

import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.fortattack import DenseRewards, SparseRewards
from openteam.worlds.fortattack.rewards import Events

GUARD = np.array([True, True, False, False])
NOBODY = [0, 0, 0, 0]
NOTHING = {
    "shot": NOBODY,
    "scored": NOBODY,
    "hit": NOBODY,
    "arrived": NOBODY,
    "over": False,
    "held": False,
    "cleared": False,
}
STILL = {"before": [1.0] * 4, "after": [1.0] * 4}
RELEASED = SparseRewards(outcome=10.0, hit=3.0, shot=0.1)


def worth(rewards, **events):
    """Everybody's reward for a step in which only this happened."""
    flags = {name: jnp.array(events.get(name, value), bool) for name, value in NOTHING.items()}
    distances = {name: jnp.array(events.get(name, value), jnp.float32) for name, value in STILL.items()}
    return np.asarray(rewards(Events(**flags, **distances), GUARD), float).round(5).tolist()


@pytest.mark.parametrize("rewards", [SparseRewards(), RELEASED, DenseRewards()])
def test_nothing_is_worth_nothing(rewards):
    assert worth(rewards) == [0, 0, 0, 0]


@pytest.mark.parametrize(("rewards", "scale"), [(SparseRewards(), 0.1), (RELEASED, 1)])
class TestSparse:
    def test_a_lost_fort_costs_every_guard_10(self, rewards, scale):
        assert worth(rewards, arrived=[0, 0, 1, 0]) == [-10 * scale, -10 * scale, 10 * scale, 10 * scale]

    def test_two_at_the_fort_cost_no_more_than_one(self, rewards, scale):
        assert worth(rewards, arrived=[0, 0, 1, 1])[0] == -10 * scale

    def test_a_fort_that_is_held_pays_every_guard_10(self, rewards, scale):
        assert worth(rewards, held=True) == [10 * scale, 10 * scale, -10 * scale, -10 * scale]

    def test_one_who_hits_gets_3_and_one_who_is_hit_loses_3(self, rewards, scale):
        assert worth(rewards, scored=[1, 0, 0, 0], hit=[0, 0, 1, 1]) == pytest.approx(
            [3 * scale, 0, -3 * scale, -3 * scale]
        )

    def test_hits_on_the_way_and_a_cleared_arena_are_not_paid(self, rewards, scale):
        del scale
        assert worth(rewards, after=[0.1] * 4, cleared=True) == [0, 0, 0, 0]


def test_a_shot_costs_a_tenth_in_the_released_code_and_nothing_in_the_paper():
    assert worth(RELEASED, shot=[1, 0, 1, 0]) == pytest.approx([-0.1, 0, -0.1, 0])
    assert worth(SparseRewards(), shot=[1, 0, 1, 0]) == [0, 0, 0, 0]


def test_terms_of_one_step_add_up():
    everything = worth(RELEASED, shot=[1, 1, 0, 0], scored=[1, 0, 0, 0], hit=[0, 1, 1, 0], held=True)
    assert everything == pytest.approx([12.9, 6.9, -13, -10])


def test_dense_pays_attackers_for_coming_nearer():
    assert worth(DenseRewards(), before=[1, 1, 1, 0.5], after=[0.9, 1, 0.9, 0.6]) == pytest.approx([0, 0, 0.2, -0.2])


def test_dense_pays_guards_for_coming_to_their_post_and_charges_for_leaving_it():
    moved = worth(DenseRewards(), before=[0.31, 0.30, 0.31, 0.30], after=[0.30, 0.31, 0.31, 0.30])
    assert moved == pytest.approx([1, -1, 0, 0])
    assert worth(DenseRewards(), before=[0.2, 0.5, 1, 1], after=[0.1, 0.4, 1, 1]) == [0, 0, 0, 0]


def test_dense_pays_only_the_attacker_that_arrived():
    assert worth(DenseRewards(), arrived=[0, 0, 1, 0]) == [-10, -10, 10, 0]


def test_dense_pays_guards_for_a_cleared_arena_and_charges_attackers():
    assert worth(DenseRewards(), cleared=True) == [10, 10, -10, -10]


def test_dense_charges_attackers_more_for_a_shot():
    assert worth(DenseRewards(), shot=[1, 0, 1, 0]) == pytest.approx([-0.1, 0, -1, 0])


def test_dense_pays_hits_like_the_released_code():
    assert worth(DenseRewards(), scored=[1, 0, 0, 0], hit=[0, 0, 1, 0]) == [3, 0, -3, 0]


def test_dense_pays_nothing_for_the_end():
    assert worth(DenseRewards(), held=True) == [0, 0, 0, 0]


def test_a_siege_that_failed_costs_attackers_if_you_say_so():
    assert worth(DenseRewards(siege=5.0), held=True) == [0, 0, -5, -5]


def test_in_the_released_code_a_fort_lost_in_the_last_step_is_paid_as_held_and_as_lost():
    last = {"over": True, "arrived": [0, 0, 1, 0]}
    assert worth(SparseRewards(outcome=10.0), **last) == [-10, -10, 10, 10]
    assert worth(SparseRewards(outcome=10.0, paid_at_the_end=True), **last) == [0, 0, 0, 0]
    assert worth(SparseRewards(outcome=10.0, paid_at_the_end=True), over=True, held=True)[0] == 10
