"""Linear layers whose rows are the leading axes.

Weights are stored ``[in, out]`` and applied as ``x @ W``, so that ``vmap`` over environments and time becomes one
plain matrix product on flat rows. (With ``W @ x`` the batch ends up as columns and every product is transposed.)
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from openteam.core.random import materialise_key


def uniform_init(key: Key[Array, ""], shape: tuple[int, ...], fan_in: int) -> Float[Array, "..."]:
    """Uniform in +-1/sqrt(fan_in): the initialisation behind the paper's results."""
    bound = fan_in**-0.5
    return jax.random.uniform(materialise_key(key), shape, minval=-bound, maxval=bound)


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
        products = [x @ weight for x, weight in zip(inputs, self.weights, strict=True)]
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
    sender: Float[Array, "slots width"], receiver: Float[Array, "slots width"], weight: Float[Array, "slots"]
) -> Float[Array, "slots width"]:
    """For every receiver j: sum over senders k != j of weight_k relu(sender_k + receiver_j).

    A small team is summed sender by sender. In a large one each unit is a piecewise linear function of the receiver
    with one kink per sender: sort the kinks, sum once, look up. That is exact and costs O(n log n), not O(n^2).
    """
    if sender.shape[0] <= 32:
        terms = [jax.nn.relu(one + receiver) * w for one, w in zip(sender, weight, strict=True)]
        total = sum(terms[1:], start=terms[0])
    else:
        total = jax.vmap(relu_sum_sorted, in_axes=(1, 1, None), out_axes=1)(sender, receiver, weight)
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
