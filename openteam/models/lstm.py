"""A long short-term memory with resets, and a gradient through recorded steps that needs no second forward pass.

While the learner collects experience, each step keeps its gate activations. The update then needs no forward
recurrence: ``recorded_hidden`` returns the hidden states that were computed and differentiates through time by hand,
with one batched product per weight instead of one per step. A test compares it with plain automatic differentiation.
"""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.models.layers import uniform_init

Tree = TypeVar("Tree")


class LSTMState(eqx.Module):
    """State after a step, and the gates that led there: input, forget, candidate, output.

    Gates are for updates. ``without_gates`` is for a policy that no update follows.
    """

    hidden: Float[Array, "*rows width"]
    cell: Float[Array, "*rows width"]
    gates: Float[Array, "*rows gates"] | None


class LSTM(eqx.Module):
    """The recurrence on flat rows."""

    w_input: Float[Array, "in gates"]
    w_hidden: Float[Array, "width gates"]
    bias: Float[Array, "gates"]

    def __init__(self, key: Key[Array, ""], size: int, width: int):
        k_input, k_hidden, k_bias = jax.random.split(key, 3)
        self.w_input = uniform_init(k_input, (size, 4 * width), width)
        self.w_hidden = uniform_init(k_hidden, (width, 4 * width), width)
        self.bias = uniform_init(k_bias, (2, 4 * width), width).sum(0)

    def start(self, rows: int) -> LSTMState:
        width = self.w_hidden.shape[0]
        return LSTMState(jnp.zeros((rows, width)), jnp.zeros((rows, width)), jnp.zeros((rows, 4 * width)))

    def step(self, state: LSTMState, x: Float[Array, "rows in"], fresh: Bool[Array, "rows"]) -> LSTMState:
        """One step; what is remembered of fresh rows counts as zero. Gates are kept if they were before."""
        keep = ~fresh[:, None]
        gates = squash(x @ self.w_input + (state.hidden * keep) @ self.w_hidden + self.bias)
        i, f, g, o = jnp.split(gates, 4, -1)
        cell = f * (state.cell * keep) + i * g
        return LSTMState(o * jnp.tanh(cell), cell, None if state.gates is None else gates)


def without_gates(memory: Tree) -> Tree:
    """The same memory, a third as large."""

    def bare(node: object) -> object:
        return LSTMState(node.hidden, node.cell, None) if isinstance(node, LSTMState) else node

    return jax.tree.map(bare, memory, is_leaf=lambda node: isinstance(node, LSTMState))


def squash(before: Float[Array, "*rows gates"]) -> Float[Array, "*rows gates"]:
    """Sigmoid for input, forget and output, tanh for the candidate, in one pass: sigmoid(x) = (1 + tanh(x/2)) / 2."""
    is_candidate = jnp.arange(before.shape[-1]) // (before.shape[-1] // 4) == 2
    gain = jnp.where(is_candidate, 1.0, 0.5)
    return gain * jnp.tanh(gain * before) + (1 - gain)


@jax.custom_vjp
def recorded_hidden(
    lstm: LSTM,
    x: Float[Array, "time rows in"],
    fresh: Bool[Array, "time rows"],
    before: LSTMState,
    states: LSTMState,
) -> Float[Array, "time rows width"]:
    """Hidden states of steps already taken with this very ``lstm`` from ``before``, as recorded in ``states``."""
    del lstm, x, fresh, before
    return states.hidden


def _forward(lstm: LSTM, x: Array, fresh: Array, before: LSTMState, states: LSTMState) -> tuple[Array, tuple]:
    return states.hidden, (lstm, x, fresh, before, states)


def _backward(residuals: tuple, d_hidden: Float[Array, "time rows width"]) -> tuple:
    """Truncated back-propagation through the recorded steps; nothing flows into ``before``."""
    lstm, x, fresh, before, states = residuals
    keep = ~fresh[..., None]
    hidden_in = jnp.concatenate([before.hidden[None], states.hidden[:-1]]) * keep
    cell_in = jnp.concatenate([before.cell[None], states.cell[:-1]]) * keep

    def step(carry: tuple[Array, Array], now: tuple) -> tuple[tuple[Array, Array], Array]:
        dh_next, dc_next = carry
        dh_out, keep, cell_in, cell, gates = now
        i, f, g, o = jnp.split(gates, 4, -1)
        dh, squashed = dh_out + dh_next, jnp.tanh(cell)
        dc = dc_next + dh * o * (1 - squashed**2)
        d_before = jnp.concatenate(
            [dc * g * i * (1 - i), dc * cell_in * f * (1 - f), dc * i * (1 - g**2), dh * squashed * o * (1 - o)], -1
        )
        return ((d_before @ lstm.w_hidden.T) * keep, dc * f * keep), d_before

    zero = jnp.zeros_like(before.hidden)
    inputs = (d_hidden, keep, cell_in, states.cell, states.gates)
    _, d_before = jax.lax.scan(step, (zero, zero), inputs, reverse=True, unroll=min(len(x), 8))
    d_lstm = eqx.tree_at(
        lambda m: (m.w_input, m.w_hidden, m.bias),
        lstm,
        (
            jnp.einsum("tri,trg->ig", x, d_before),
            jnp.einsum("trh,trg->hg", hidden_in, d_before),
            d_before.sum((0, 1)),
        ),
    )
    return d_lstm, d_before @ lstm.w_input.T, None, None, None


recorded_hidden.defvjp(_forward, _backward)
