"""Linear layers whose rows are the leading axes.

Weights are stored ``[in, out]`` and applied as ``x @ W``, so that ``vmap`` over environments and time becomes one
plain matrix product on flat rows. (With ``W @ x`` the batch ends up as columns and every product is transposed.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.random import materialise_key


def uniform_init(key: Key[Array, ""], shape: tuple[int, ...], fan_in: int) -> Float[Array, "..."]:
    """Uniform in +-1/sqrt(fan_in): the initialisation behind the paper's results."""
    bound = fan_in**-0.5
    return jax.random.uniform(materialise_key(key), shape, minval=-bound, maxval=bound)


def trained(weight: Float[Array | np.ndarray, "*stack in out"]) -> Float[Array, "*stack in out"]:
    """The weight itself. Its gradient is computed as a product of plain matrices, which is twice as fast on a CPU.

    JAX multiplies the other way round, d^T x, and transposes the result. XLA merges the two into a product of two
    transposed matrices, which its fast kernels do not know; here they are kept apart.
    """
    return _trained(jnp.array(weight))  # weights of types that do not learn may be numpy's, also under vmap


@jax.custom_vjp
def _trained(weight: Float[Array, "*stack in out"]) -> Float[Array, "*stack in out"]:
    return weight


_trained.defvjp(
    lambda weight: (weight, None),
    lambda _, gradient: (jnp.matrix_transpose(jax.lax.optimization_barrier(jnp.matrix_transpose(gradient))),),
)


class Linear(eqx.Module):
    """x W + b, on the concatenation of one or more inputs.

    Each input has a weight of its own and the products are summed. So an input that all rows share, such as the
    learner's type, is multiplied once and broadcast.
    """

    weights: tuple[Float[Array, "in out"], ...]
    bias: Float[Array, "out"]

    def __init__(self, key: Key[Array, ""], sizes: int | tuple[int, ...], out: int):
        sizes = (sizes,) if isinstance(sizes, int) else sizes
        *keys, bias_key = jax.random.split(key, len(sizes) + 1)
        self.weights = tuple(uniform_init(k, (n, out), sum(sizes)) for k, n in zip(keys, sizes, strict=True))
        self.bias = uniform_init(bias_key, (out,), sum(sizes))

    def __call__(self, *inputs: Float[Array, "..."]) -> Float[Array, "..."]:
        products = [x @ trained(weight) for x, weight in zip(inputs, self.weights, strict=True)]
        return sum(products[1:], start=products[0]) + self.bias


def side_by_side(*layers: Linear) -> Linear:
    """Layers of the same inputs as one whose outcome is all of theirs: a wide product is faster than narrow ones."""
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, -1), *layers)


class MLP(eqx.Module):
    """Linear layers with an activation between them, ReLU unless said otherwise; the last is linear."""

    layers: tuple[Linear, ...]
    activation: Callable = eqx.field(static=True)

    def __init__(
        self, key: Key[Array, ""], sizes: int | tuple[int, ...], *widths: int, activation: Callable = jax.nn.relu
    ):
        keys = jax.random.split(key, len(widths))
        inputs = (sizes, *widths[:-1])
        self.layers = tuple(Linear(k, i, o) for k, i, o in zip(keys, inputs, widths, strict=True))
        self.activation = activation

    def __call__(self, *inputs: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.rest(self.layers[0](*inputs))

    def rest(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """What comes after the first layer, of which ``x`` is the outcome."""
        for layer in self.layers[1:]:
            x = layer(self.activation(x))
        return x


def relu_sum(
    sender: Float[Array, "slots width"],
    receiver: Float[Array, "slots width"],
    weight: Bool[Array, "slots"] | Float[Array, "slots"],
) -> Float[Array, "slots width"]:
    """For every receiver j: sum over senders k != j of weight_k relu(sender_k + receiver_j).

    A small team is summed sender by sender. In a large one each unit is a piecewise linear function of the receiver
    with one kink per sender: sort the kinks, sum once, look up. That is exact and costs O(n log n), not O(n^2).
    """
    if sender.shape[0] <= 32:
        terms = [jax.nn.relu(one + receiver) * w for one, w in zip(sender, weight, strict=True)]
        total = sum(terms[1:], start=terms[0])
    else:
        by_unit = relu_sum_of_present if weight.dtype == bool else relu_sum_sorted
        total = jax.vmap(by_unit, in_axes=(1, 1, None), out_axes=1)(sender, receiver, weight)
    return total - jax.nn.relu(sender + receiver) * weight[:, None]


def relu_sum_sorted(
    sender: Float[Array, "slots"], receiver: Float[Array, "slots"], weight: Float[Array, "slots"]
) -> Float[Array, "slots"]:
    """Sum over all k of weight_k relu(sender_k + receiver_j), by sorting the senders."""
    order = jnp.argsort(-sender)
    ranked, weights = sender[order], weight[order]
    zero = jnp.zeros(1)
    count = jnp.concatenate([zero, jnp.cumsum(weights)])
    mass = jnp.concatenate([zero, jnp.cumsum(weights * ranked)])
    active = jnp.searchsorted(-ranked, receiver)  # how many senders exceed -receiver
    return mass[active] + count[active] * receiver


@jax.custom_vjp
def relu_sum_of_present(
    sender: Float[Array, "slots"], receiver: Float[Array, "slots"], present: Bool[Array, "slots"]
) -> Float[Array, "slots"]:
    """The same where a sender counts or does not: values are sorted alone, as integers, a seventh of the time.

    Senders that do not count become infinite kinks, which come last and which no receiver reaches.
    """
    kinks = sorted_floats(jnp.where(present, -sender, jnp.inf))
    mass = jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.where(jnp.isinf(kinks), 0, -kinks))])
    active = jnp.searchsorted(kinks, receiver)
    return mass[active] + active * receiver


def _present_forward(sender: Array, receiver: Array, present: Array) -> tuple[Array, Any]:
    weight = present.astype(sender.dtype)
    return jax.vjp(lambda s, r: relu_sum_sorted(s, r, weight), sender, receiver)


def _present_backward(pull_back: Any, gradient: Array) -> tuple[Array, Array, None]:
    return *pull_back(gradient), None


relu_sum_of_present.defvjp(_present_forward, _present_backward)


@jax.jit
def sorted_floats(values: Float[Array, "n"]) -> Float[Array, "n"]:
    """In ascending order. XLA sorts integers on a CPU several times as fast as floats.

    Known by its name to exports, which sort floats.
    """
    bits = jax.lax.bitcast_convert_type(values, jnp.int32)
    ranked = jax.lax.sort(ordered_bits(bits), is_stable=False)
    return jax.lax.bitcast_convert_type(ordered_bits(ranked), jnp.float32)


def ordered_bits(bits: Int[Array, "n"]) -> Int[Array, "n"]:
    """Bits of floats as integers in the order of the floats; applied twice it changes nothing."""
    return jnp.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
