"""The replay buffer: what is kept of a chunk, what is overwritten, and that all kept steps are sampled evenly."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.replay import ReplayBuffer, Transition, transitions
from openteam.core import random
from openteam.core.types import NO_ACTION, Chunk, Observation, Spec, TimeStep, Truth, View
from openteam.errors import UserError

SPEC = Spec(agent_features=2, shared_features=3, actions=4)
TIME, ENVS, SLOTS = 2, 3, 2
ROWS = ENVS * SLOTS
BUFFER = ReplayBuffer(size=3 * TIME * ENVS, batch=12, warm_up=0)


def chunk_of(number: int) -> Chunk:
    """A chunk that can be told from others: rewards are 1000 number + 10 row + step, everything else is random."""
    rng = np.random.default_rng(number)
    steps, acted = (TIME + 1, ROWS), (TIME, ROWS)

    def floats(*shape):
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    def flags(*shape, probability=0.8):
        return jnp.asarray(rng.random(shape) < probability)

    def view():
        seen = Observation(floats(*steps, SLOTS, 2), floats(*steps, 3), flags(*steps, SLOTS), flags(*steps, 4))
        return View(seen, flags(*steps, probability=0.2), flags(*steps, SLOTS), jnp.full(steps, NO_ACTION, jnp.int32))

    reward = 1000.0 * number + 10 * jnp.arange(ROWS) + jnp.arange(-1, TIME)[:, None]
    sequence = TimeStep(view(), reward, flags(*steps).astype(jnp.float32), flags(*steps), view())
    actions = jnp.asarray(rng.integers(0, 4, acted), jnp.int32)
    truth = Truth(
        jnp.stack([actions, actions], -1), flags(*acted, SLOTS), jnp.zeros((*acted, SLOTS), jnp.int32),
        floats(*acted, SLOTS), floats(*acted, SLOTS, 2), floats(*acted, 3),
    )  # fmt: skip
    return Chunk(sequence, actions, truth, (), ())


def filled(chunks: int) -> Transition:
    """A buffer with room for three chunks, after this many."""
    shapes = jax.eval_shape(lambda: BUFFER.start(SPEC, ENVS, TIME))
    kept = jax.tree.map(lambda leaf: jnp.zeros((ROWS, *leaf.shape), leaf.dtype), shapes)
    for number in range(chunks):
        kept = push(kept, chunk_of(number), number)
    return kept


push = jax.jit(BUFFER.push)
sample = jax.jit(ReplayBuffer.sample, static_argnums=(0, 4))


def some_teams(seed: int = 0, batch: int = 12) -> Transition:
    """Steps of teams of which some are absent, some leave and some arrive."""
    return sample(dataclasses.replace(BUFFER, batch=batch), random.key(seed), filled(3), 6, SLOTS)


def test_a_transition_is_what_a_row_saw_of_itself_and_its_true_successor():
    chunk, kept = chunk_of(0), jax.jit(transitions)(chunk_of(0))
    now, after = chunk.timesteps.view.obs, chunk.next_timesteps.final_view
    np.testing.assert_array_equal(kept.before.own, now.agents[:, :, 0])
    np.testing.assert_array_equal(kept.after.own, after.obs.agents[:, :, 0])
    np.testing.assert_array_equal(kept.before.shared, now.shared)
    np.testing.assert_array_equal(kept.after.legal, after.obs.legal)
    np.testing.assert_array_equal(kept.discount, chunk.next_timesteps.discount)
    np.testing.assert_array_equal(kept.action, chunk.actions)
    here, there = now.visible[..., 0], after.obs.visible[..., 0]
    np.testing.assert_array_equal(kept.stays, here & there & ~after.starts)
    assert kept.stays.any()
    assert (here & there & ~kept.stays).any()


def test_a_full_buffer_forgets_its_oldest_chunk():
    buffer, written = filled(4), jax.jit(transitions)
    numbers = (buffer.reward[0] // 1000).tolist()
    assert numbers == [3, 3, 1, 1, 2, 2]
    for number in (3, 1, 2):
        at = TIME * (number % 3)
        kept = jax.tree.map(lambda leaf, at=at: np.swapaxes(leaf, 0, 1)[at : at + TIME], buffer)
        for one, two in zip(jax.tree.leaves(kept), jax.tree.leaves(written(chunk_of(number))), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("chunks", [2, 5])
def test_every_kept_step_is_drawn_equally_often_and_no_other(chunks):
    draws = 20_000
    many = dataclasses.replace(BUFFER, batch=draws)
    drawn = sample(many, random.key(0), filled(chunks), chunks * TIME, SLOTS)
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


def test_what_is_sampled_depends_on_the_key_alone():
    one, again, other = some_teams(0), some_teams(0), some_teams(1)
    np.testing.assert_array_equal(one.reward, again.reward)
    assert (one.reward != other.reward).any()


def test_a_buffer_holds_whole_chunks_and_at_least_one():
    assert ReplayBuffer(size=50_000, batch=1, warm_up=0).steps(16, 6) == 520 * 6
    with pytest.raises(UserError, match=r"envs times update_every = 64 transitions; got size 63"):
        ReplayBuffer(size=63, batch=1, warm_up=0).steps(16, 4)
    with pytest.raises(UserError, match="batch must be positive"):
        ReplayBuffer(size=63, batch=0, warm_up=0)
