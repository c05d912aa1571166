"""Prey as agents: hunted by scripted types, punished when captured, and shown what learned prey are shown."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.errors import UserError
from openteam.prey.evasion import Evasion, EvasionState
from openteam.prey.sight import prey_observations
from openteam.teammates.hunters import Hunters
from openteam.teammates.pool import Pool
from openteam.testing import check_world
from openteam.views import FullView
from openteam.worlds.wolfpack.draw import from_text

WORLD = Evasion(Pool((Hunters(("teammate-aware", "greedy-waiting"), grid=6),)), size=6)
ENVS, STEPS = 128, 40


@jax.jit
def play(key):
    """Prey that stay; all states and rewards, time first."""
    k_start, k_play = jax.random.split(key)
    start = jax.vmap(WORLD.start, (0, None))(jax.random.split(k_start, ENVS), jnp.ones(2, bool))

    def turn(state, key):
        after, reward, over = WORLD.step(key, state, jnp.full(2, 4))
        return after, (state, after, reward, over)

    return jax.lax.scan(jax.vmap(turn), start, jax.random.split(k_play, (STEPS, ENVS)))[1]


@pytest.fixture(scope="module")
def played():
    return jax.tree.map(np.asarray, play(jax.random.key(0)))


def test_a_captured_prey_pays_one_and_nobody_else_pays(played):
    _, after, reward, over = played
    assert (reward == -after.hunt.captured.astype(float)).all()
    assert after.hunt.captured.any(0).mean() > 0.5
    assert not over.any()


def test_the_number_of_hunters_is_uniform_over_its_range_and_kept(played):
    before, after, *_ = played
    size = before.hunt.present.sum(-1)
    assert (size == size[:1]).all()
    assert (after.type_ids == before.type_ids).all()
    assert np.bincount(size[0], minlength=5)[2:] / ENVS == pytest.approx([1 / 3] * 3, abs=0.2)


def test_hunters_keep_what_they_drew_at_the_start(played):
    before, after, *_ = played
    assert before.starts[0].all()
    assert not before.starts[1:].any()
    patience = after.memory[0].team
    assert (patience.radius == patience.radius[0]).all()
    assert set(np.unique(patience.radius)) == {2, 3, 4}


def test_what_an_agent_observes_is_what_learned_prey_are_shown():
    hunt = from_text(". . . . . . \n . ^ . b . . \n . . . . . . \n A . v . . . \n . . . . . . \n . . . . . .", slots=4)
    nobody = jnp.zeros(4, jnp.int32)
    state = EvasionState(jnp.ones(2, bool), hunt, nobody, WORLD.hunters.start(4), nobody, jnp.array(True))

    @jax.jit
    def look(state):
        eyes = jax.vmap(lambda viewer: FullView()(jax.random.key(0), WORLD, state, viewer))
        return eyes(jnp.arange(2)), prey_observations(state.hunt, WORLD.size)

    seen, shown = look(state)
    for name in ("agents", "shared", "visible", "legal"):
        assert (getattr(seen, name) == getattr(shown, name)).all(), name


def test_evasion_keeps_the_contract():
    check_world(WORLD, slots=(2,), steps=200)


def test_a_hunt_that_cannot_be_is_refused():
    with pytest.raises(UserError, match="1 <= fewest <= most hunters; got 3 and 2"):
        Evasion(WORLD.hunters, fewest=3, most=2).check(2)
    with pytest.raises(UserError, match="4 hunters and 2 prey do not fit"):
        Evasion(WORLD.hunters, size=2).check(2)
