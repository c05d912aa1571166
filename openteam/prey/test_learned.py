"""Learned prey: which policy decides, and from which observation."""

import jax
import jax.numpy as jnp
import pytest

from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.errors import UserError
from openteam.prey.learned import LearnedPrey, act_together
from openteam.worlds.wolfpack import Wolfpack
from openteam.worlds.wolfpack.draw import from_text

SIZE, SLOTS = 5, 3


class Listens(AbstractMemoryless):
    """Acts by the first number it sees, times a number of its own."""

    factor: jax.Array

    def decide(self, key, memory, view):
        action = (view.obs.agents[0, 0] * self.factor).astype(jnp.int32)
        return Decision(action, memory, Explanation())


LEARNED = jax.jit(lambda factor, state: act_together(jax.random.key(0), Listens(factor), state, SIZE))


def test_each_learned_prey_acts_by_its_own_policy_on_its_own_sight():
    state = from_text(". . . . . \n . A . . . \n . . . ^ . \n . . . . . \n . v . . .", slots=SLOTS)
    # Cells to the wall ahead: 2 and 0.
    assert LEARNED(jnp.array([3.0, 5.0]), state).tolist() == [6, 0]
    assert LEARNED(jnp.array([2.0, 5.0]), state).tolist() == [4, 0]


def test_a_prey_without_a_name_is_refused():
    with pytest.raises(UserError, match="names 1 policies and the world has 2 prey"):
        Wolfpack(behaviour=LearnedPrey(names=("prey-0",)))
