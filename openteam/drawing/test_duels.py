"""Who holds the fort against whom."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from openteam.analysis.duels import duels
from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.drawing.duels import draw_duels
from openteam.errors import UserError
from openteam.registry import make
from openteam.teammates import AbstractFamily, Pool
from openteam.worlds.fortattack import ACTION_NAMES


class Always(AbstractMemoryless):
    action: jax.Array

    def decide(self, key, memory, view):
        return Decision(self.action, memory, Explanation())


class Simple(AbstractFamily):
    """Members are named after the only action they take."""

    names: tuple[str, ...] = eqx.field(static=True)

    def member(self, index):
        return Always(jnp.array([ACTION_NAMES.index(name) for name in self.names], jnp.int32)[index])


@pytest.fixture(scope="module")
def held():
    task = dataclasses.replace(make("fortattack"), pool=Pool((Simple(("none", "north", "shoot")),)))
    return duels(task, episodes=128)


def test_a_fort_that_nobody_attacks_is_held(held):
    assert held[:, 0].tolist() == [1, 1, 1]


def test_attackers_that_walk_north_often_reach_it_unless_they_are_shot(held):
    assert 0.4 < held[0, 1] < 0.9
    assert held[2, 1] > held[0, 1] + 0.1


def test_the_table_can_be_drawn(held, tmp_path):
    draw_duels(tmp_path / "duels.png", held, ["none", "north", "shoot"])
    assert (tmp_path / "duels.png").stat().st_size > 5000


def test_other_tasks_have_no_duels():
    with pytest.raises(UserError, match="fought in FortAttack; 'lbf' is another task"):
        duels(make("lbf"))
