"""Whole games of random play: what must always be true."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from openteam.core.random import key as make_key
from openteam.openness import Casualties
from openteam.worlds.fortattack import FortAttack

WORLD = FortAttack(learner_hit_ends=False)
OPENNESS = Casualties(team_size=4, guards=3, attackers=4, learner_stays=False)
GAMES, STEPS = 8, 120  # beyond the end, so that later steps are seen as well


@jax.jit
def play(key, chances):
    """Time-major: who takes part, states that were acted on, rewards, who left and joined, and whether it was over."""

    def step(carry, number):
        team, state = carry
        k_act, k_step, k_open, k_admit = jax.random.split(jax.random.fold_in(k_play, number), 4)
        actions = jax.random.categorical(k_act, chances, shape=(GAMES, OPENNESS.slots))
        k_step, k_open, k_admit = (jax.random.split(k, GAMES) for k in (k_step, k_open, k_admit))
        after, reward, over = jax.vmap(WORLD.step)(k_step, state, actions)
        team, leaving, joining = jax.vmap(OPENNESS.step)(k_open, team, after)
        opened = jax.vmap(WORLD.admit)(k_admit, jax.vmap(WORLD.dismiss)(after, leaving), joining)
        return (team, opened), (team, state, after, reward, over, leaving, joining)

    k_team, k_start, k_play = jax.random.split(key, 3)
    team, present = jax.vmap(OPENNESS.start)(jax.random.split(k_team, GAMES))
    state = jax.vmap(WORLD.start)(jax.random.split(k_start, GAMES), present)
    return jax.lax.scan(step, (team, state), jnp.arange(STEPS))[1]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 2**31 - 1), st.lists(st.floats(-2, 2, width=32), min_size=8, max_size=8))
def test_random_games_obey_the_rules(seed, chances):
    played = play(make_key(seed), jnp.array(chances, jnp.float32))
    team, state, after, reward, over, leaving, joining = jax.tree.map(np.asarray, played)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state, reward)))

    one_step = WORLD.movement.top_speed * WORLD.movement.tick
    walls = np.array([WORLD.arena.half_width, WORLD.arena.half_height])
    assert (np.abs(state.position) <= walls - WORLD.movement.radius + one_step).all()
    assert np.linalg.norm(state.velocity, axis=-1).max() <= WORLD.movement.top_speed + 1e-4
    assert (state.angle >= 0).all()
    assert (state.angle < 2 * np.pi).all()

    # All who take part are present but those with a time out left.
    assert (state.present == (team & (state.out_for == 0))).all()
    assert (team[:, :, :4].sum(-1) == 3).all()
    assert (team[:, :, 4:].sum(-1) == 4).all()
    assert not (leaving & joining).any()
    assert (leaving <= state.present).all()
    assert (joining <= ~state.present).all()
    assert (state.present[1:] == (state.present[:-1] & ~leaving[:-1]) | joining[:-1]).all()
    assert (state.clock == np.arange(STEPS)[:, None]).all()
    assert over[WORLD.steps - 1 :].all()

    # Hits: someone of the other side shot, and every hit is felt for 8 to 80 steps a shooter.
    hit = leaving
    assert (reward[~state.present] == 0).all()
    assert (after.shot <= state.present).all()
    guard = np.arange(8) < 4
    shooters = np.where(guard, after.shot[:, :, 4:].sum(-1)[..., None], after.shot[:, :, :4].sum(-1)[..., None])
    assert (hit <= (shooters > 0)).all()
    assert (after.out_for[hit] >= 8).all()
    assert (after.out_for[hit] <= 80 * shooters[hit]).all()


def test_random_games_are_not_all_alike():
    _, state, _, _, over, leaving, joining = play(make_key(0), jnp.zeros(8))
    assert leaving.sum() > 10
    assert joining.sum() > 5
    assert not over[: WORLD.steps - 1].all()
    assert np.ptp(np.asarray(state.position), axis=0).max() > 0.5
