"""Replay: what is kept of a chunk, what is overwritten, and that every kept step is drawn equally often."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.replay import Transition, kept_steps, mean_over, push, sample, start_replay, transitions
from openteam.core import random
from openteam.core.types import Chunk, Observation, Spec, TimeStep, Truth
from openteam.errors import UserError

SPEC = Spec(agent_features=2, shared_features=3, actions=4)
TIME, ENVS, SLOTS = 2, 3, 2
ROWS = ENVS * SLOTS


def chunk_of(number: int) -> Chunk:
    """A chunk that can be told from others: rewards are 1000 number + 10 row + step, everything else is random."""
    rng = np.random.default_rng(number)
    steps, acted = (TIME + 1, ROWS), (TIME, ROWS)

    def floats(*shape):
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    def flags(*shape, probability=0.8):
        return jnp.asarray(rng.random(shape) < probability)

    def obs():
        return Observation(floats(*steps, SLOTS, 2), floats(*steps, 3), flags(*steps, SLOTS), flags(*steps, 4))

    reward = 1000.0 * number + 10 * jnp.arange(ROWS) + jnp.arange(-1, TIME)[:, None]
    timesteps = TimeStep(
        obs(),
        reward,
        flags(*steps).astype(jnp.float32),
        flags(*steps),
        flags(*steps),
        flags(*steps, SLOTS, probability=0.2),
        obs(),
    )
    actions = jnp.asarray(rng.integers(0, 4, acted), jnp.int32)
    truth = Truth(
        jnp.stack([actions, actions], -1), flags(*acted, SLOTS), jnp.zeros((*acted, SLOTS), jnp.int32),
        floats(*acted, SLOTS), floats(*acted, SLOTS, 2), floats(*acted, 3),
    )  # fmt: skip
    return Chunk(timesteps, actions, truth, (), ())


def filled(chunks: int) -> Transition:
    """A replay with room for three chunks."""
    shapes = jax.eval_shape(lambda: start_replay(SPEC, 3 * TIME))
    replay = jax.tree.map(lambda leaf: jnp.zeros((ROWS, *leaf.shape), leaf.dtype), shapes)
    for number in range(chunks):
        replay = add(replay, chunk_of(number), number)
    return replay


add = jax.jit(push)
draw = jax.jit(sample, static_argnums=(3, 4))


def some_teams(seed: int = 0, batch: int = 12) -> Transition:
    """Steps of teams of which some are absent, some leave and some arrive."""
    return draw(random.key(seed), filled(3), 6, batch, SLOTS)


def test_a_transition_is_the_rows_own_side_and_its_true_successor():
    chunk, kept = chunk_of(0), jax.jit(transitions)(chunk_of(0))
    led = chunk.timesteps
    np.testing.assert_array_equal(kept.before.own, led.obs.agents[:-1, :, 0])
    np.testing.assert_array_equal(kept.after.own, led.final_obs.agents[1:, :, 0])
    np.testing.assert_array_equal(kept.before.shared, led.obs.shared[:-1])
    np.testing.assert_array_equal(kept.after.legal, led.final_obs.legal[1:])
    np.testing.assert_array_equal(kept.discount, led.discount[1:])
    np.testing.assert_array_equal(kept.action, chunk.actions)
    here, there = led.obs.visible[:-1, :, 0], led.final_obs.visible[1:, :, 0]
    np.testing.assert_array_equal(kept.stays, here & there & ~led.joined[1:, :, 0])
    assert kept.stays.any()
    assert (here & there & ~kept.stays).any()


def test_a_full_replay_forgets_its_oldest_chunk():
    replay, told = filled(4), jax.jit(transitions)
    numbers = (replay.reward[0] // 1000).tolist()
    assert numbers == [3, 3, 1, 1, 2, 2]
    for number in (3, 1, 2):
        at = TIME * (number % 3)
        kept = jax.tree.map(lambda leaf, at=at: np.swapaxes(leaf, 0, 1)[at : at + TIME], replay)
        for one, two in zip(jax.tree.leaves(kept), jax.tree.leaves(told(chunk_of(number))), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("chunks", [2, 5])
def test_every_kept_step_is_drawn_equally_often_and_no_other(chunks):
    draws = 20_000
    drawn = draw(random.key(0), filled(chunks), chunks * TIME, draws, SLOTS)
    values, counts = np.unique(drawn.reward[:, 0], return_counts=True)
    kept = np.asarray(filled(chunks).reward)[::SLOTS, : chunks * TIME]
    assert set(values.tolist()) == set(kept.ravel().tolist())
    assert np.abs(counts * len(values) / draws - 1).max() < 0.15


def test_a_draw_is_one_step_of_one_team():
    drawn = some_teams(batch=50)
    np.testing.assert_array_equal(drawn.reward[:, 1] - drawn.reward[:, 0], 10)
    rows = drawn.reward[:, 0] % 1000 // 10
    assert set(rows.tolist()) == {0, 2, 4}
    assert drawn.after.legal.shape == (50, SLOTS, 4)


def test_a_replay_holds_whole_chunks_and_at_least_one():
    assert kept_steps(50_000, 16, 6) == 520 * 6
    with pytest.raises(UserError, match=r"envs times update_every = 64 transitions; got 63"):
        kept_steps(63, 16, 4)


def test_the_mean_is_over_those_it_concerns_and_zero_over_nobody():
    numbers = jnp.array([1.0, jnp.nan, 3.0])
    assert mean_over(numbers, jnp.array([True, False, True])) == 2
    assert mean_over(numbers, jnp.zeros(3, bool)) == 0
