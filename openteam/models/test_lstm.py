"""The recurrence against plain numpy, and its hand-written gradient against automatic differentiation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.models.lstm import LSTM, LSTMState, recorded_hidden

TIME, ROWS, SIZE, WIDTH = 7, 5, 3, 4


def random(*shape: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def network() -> LSTM:
    """A recurrence with random weights that cost no compilation."""
    shapes = eqx.filter_eval_shape(LSTM, jax.random.key(0), SIZE, WIDTH)
    leaves, tree = jax.tree.flatten(shapes)
    return jax.tree.unflatten(tree, [0.7 * random(*leaf.shape, seed=n) for n, leaf in enumerate(leaves)])


def remembered(seed: int = 9) -> LSTMState:
    hidden, cell = np.random.default_rng(seed).uniform(-0.9, 0.9, size=(2, ROWS, WIDTH)).astype(np.float32)
    return LSTMState(jnp.asarray(hidden), jnp.asarray(cell), jnp.zeros((ROWS, 4 * WIDTH)))


def fresh_flags() -> np.ndarray:
    flags = np.random.default_rng(5).random((TIME, ROWS)) < 0.3
    assert flags.any(0).any()
    assert (~flags).all(0).any(), "a row that remembers from start to end is needed too"
    return flags


step = eqx.filter_jit(lambda lstm, memory, x, fresh: lstm.step(memory, x, fresh))


@eqx.filter_jit
def scan(lstm: LSTM, x: jax.Array, fresh: jax.Array, before: LSTMState) -> LSTMState:
    """Memories after each step, the plain way."""

    def one(memory, now):
        memory = lstm.step(memory, *now)
        return memory, memory

    return jax.lax.scan(one, before, (x, fresh))[1]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_a_step_is_that_of_a_long_short_term_memory():
    lstm, memory, x = network(), remembered(), random(ROWS, SIZE, seed=1)
    after = step(lstm, memory, x, np.zeros(ROWS, bool))
    w_in, w_hidden, bias = (np.asarray(w, np.float64) for w in (lstm.w_input, lstm.w_hidden, lstm.bias))
    i, f, g, o = np.split(np.asarray(x) @ w_in + np.asarray(memory.hidden) @ w_hidden + bias, 4, -1)
    cell = sigmoid(f) * np.asarray(memory.cell) + sigmoid(i) * np.tanh(g)
    np.testing.assert_allclose(after.cell, cell, atol=1e-6)
    np.testing.assert_allclose(after.hidden, sigmoid(o) * np.tanh(cell), atol=1e-6)


def test_fresh_rows_start_from_nothing_and_the_others_go_on():
    lstm, memory, x, fresh = network(), remembered(), random(ROWS, SIZE), np.arange(ROWS) % 2 == 0
    mixed = step(lstm, memory, x, fresh)
    blank = step(lstm, lstm.start(ROWS), x, np.zeros(ROWS, bool))
    known = step(lstm, memory, x, np.zeros(ROWS, bool))
    np.testing.assert_array_equal(mixed.hidden, np.where(fresh[:, None], blank.hidden, known.hidden))
    np.testing.assert_array_equal(mixed.cell, np.where(fresh[:, None], blank.cell, known.cell))
    assert not np.allclose(blank.hidden, known.hidden)


def test_recorded_steps_return_their_hidden_states():
    lstm, x, fresh, before = network(), random(TIME, ROWS, SIZE), jnp.asarray(fresh_flags()), remembered()
    memory = scan(lstm, x, fresh, before)
    np.testing.assert_array_equal(recorded_hidden(lstm, x, fresh, before, memory), memory.hidden)


WEIGHT = random(TIME, ROWS, WIDTH, seed=2)  # of a random functional of all hidden states


@jax.jit
def gradient_by_hand(lstm: LSTM, x: jax.Array, fresh: jax.Array, before: LSTMState, memory: LSTMState) -> tuple:
    def functional(lstm, x, before, memory):
        return (WEIGHT * recorded_hidden(lstm, x, fresh, before, memory)).sum()

    return jax.grad(functional, argnums=(0, 1, 2, 3))(lstm, x, before, memory)


@jax.jit
def gradient_of_scan(lstm: LSTM, x: jax.Array, fresh: jax.Array, before: LSTMState) -> tuple:
    def functional(lstm, x, before):
        return (WEIGHT * scan(lstm, x, fresh, before).hidden).sum()

    return jax.grad(functional, argnums=(0, 1, 2))(lstm, x, before)


def both_gradients(fresh: np.ndarray) -> tuple:
    lstm, x, before = network(), random(TIME, ROWS, SIZE), remembered()
    memory = scan(lstm, x, fresh, before)
    return gradient_by_hand(lstm, x, fresh, before, memory), gradient_of_scan(lstm, x, fresh, before)


@pytest.mark.parametrize(
    "fresh",
    [fresh_flags(), np.zeros((TIME, ROWS), bool), np.ones((TIME, ROWS), bool)],
    ids=["some-fresh", "none-fresh", "all-fresh"],
)
def test_recorded_steps_have_the_gradients_of_automatic_differentiation(fresh):
    by_hand, automatic = both_gradients(fresh)
    for hand, auto in zip(jax.tree.leaves(by_hand[:2]), jax.tree.leaves(automatic[:2]), strict=True):
        np.testing.assert_allclose(hand, auto, rtol=1e-4, atol=1e-5)


def test_recorded_steps_send_no_gradient_to_what_came_before():
    by_hand, automatic = both_gradients(np.zeros((TIME, ROWS), bool))
    assert all((np.asarray(leaf) == 0).all() for leaf in jax.tree.leaves(by_hand[2:]))
    assert (np.asarray(automatic[2].hidden) != 0).any()
