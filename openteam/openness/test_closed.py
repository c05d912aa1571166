"""A closed team stays as it is."""

import jax
import jax.numpy as jnp
import pytest

from openteam.errors import UserError
from openteam.openness import Closed
from openteam.worlds.lbf.draw import from_text


def test_everybody_is_present_from_the_start():
    _, present = Closed(team=3).start(jax.random.key(0))
    assert present.tolist() == [True, True, True]
    assert Closed(team=3).slots == 3


def test_nobody_leaves_and_nobody_joins():
    process = Closed(team=2)
    state, _ = process.start(jax.random.key(0))
    world = from_text("A1 . \n . b1")
    for key in jax.random.split(jax.random.key(1), 5):
        state, leaving, joining = process.step(key, state, world)
        assert not jnp.any(leaving | joining)
        assert leaving.shape == joining.shape == (2,)


def test_a_team_without_a_learner_is_refused():
    assert Closed(team=1).slots == 1
    with pytest.raises(UserError, match="needs at least the learner; got team 0"):
        Closed(team=0)
