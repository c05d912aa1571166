"""Casualties: who is hit leaves for as long as the world says, and who does not take part never comes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.random import key as make_key
from openteam.core.world import AbstractWorldState
from openteam.errors import UserError
from openteam.openness import Casualties


class Battle(AbstractWorldState):
    present: jax.Array
    out_for: jax.Array


def step(process, present, out_for, takes_part=None):
    """Who leaves and who joins, slot numbers."""
    takes_part = jnp.ones(process.slots, bool) if takes_part is None else jnp.array(takes_part, bool)
    world = Battle(jnp.array(present, bool), jnp.array(out_for))
    after, leaving, joining = process.step(jax.random.key(0), takes_part, world)
    assert (after == takes_part).all()
    return np.flatnonzero(leaving).tolist(), np.flatnonzero(joining).tolist()


def test_who_is_hit_leaves_at_once():
    assert step(Casualties(), [1, 1, 1, 1, 1, 1], [0, 7, 0, 0, 1, 0]) == ([1, 4], [])


def test_who_is_out_stays_away_until_its_time_is_over():
    assert step(Casualties(), [1, 0, 1, 0, 1, 1], [0, 7, 0, 1, 0, 0]) == ([], [])
    assert step(Casualties(), [1, 0, 1, 0, 1, 1], [0, 6, 0, 0, 0, 0]) == ([], [3])


def test_the_learner_stays_though_it_is_hit():
    assert step(Casualties(), [1, 1, 1, 1, 1, 1], [9, 0, 0, 0, 0, 0]) == ([], [])


def test_in_joint_training_slot_0_leaves_like_any_other():
    joint = Casualties(learner_stays=False)
    assert step(joint, [1, 1, 1, 1, 1, 1], [9, 0, 0, 0, 0, 0]) == ([0], [])
    assert step(joint, [0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]) == ([], [0])


def test_who_does_not_take_part_never_joins():
    assert step(Casualties(), [1, 0, 0, 1, 1, 0], [0] * 6, takes_part=[1, 1, 0, 1, 1, 0]) == ([], [1])


def starts(process, episodes=2000):
    keys = jax.random.split(make_key(0), episodes)
    state, present = jax.jit(jax.vmap(process.start))(keys)
    assert (state == present).all()
    return np.asarray(present)


def test_everybody_takes_part_when_there_are_no_more_places():
    assert starts(Casualties()).all()
    assert Casualties().slots == 6


def test_as_many_of_each_team_take_part_as_asked_for():
    present = starts(Casualties(team_size=5, guards=3, attackers=2))
    assert (present[:, :5].sum(1) == 3).all()
    assert (present[:, 5:].sum(1) == 2).all()


def test_the_learner_always_takes_part_and_all_others_equally_often():
    share = starts(Casualties(team_size=5, guards=3, attackers=3)).mean(0)
    assert share[0] == 1
    assert share[1:5] == pytest.approx(np.full(4, 2 / 4), abs=0.06)
    assert share[5:] == pytest.approx(np.full(5, 3 / 5), abs=0.06)


@pytest.mark.parametrize(
    "options", [{"guards": 0}, {"guards": 4}, {"attackers": -1}, {"attackers": 4}, {"team_size": 2}, {"team_size": 0}]
)
def test_teams_that_cannot_be_are_refused(options):
    with pytest.raises(UserError, match=r"A team of \d slots has 1 to"):
        Casualties(**options)
