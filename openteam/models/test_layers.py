"""Layers whose gradients are computed in another way than JAX would are the same functions."""

import re

import jax
import jax.numpy as jnp
import numpy as np

from openteam.core.random import key
from openteam.models.layers import Linear


def test_a_layer_has_the_gradient_of_the_plain_product():
    k_layer, k_x, k_y = jax.random.split(key(0), 3)
    layer = Linear(k_layer, (5, 2), 3)
    x, y = jax.random.normal(k_x, (4, 7, 5)), jax.random.normal(k_y, (4, 7, 2))

    def ours(layer, x, y):
        return (jax.vmap(jax.vmap(layer))(x, y) ** 2).sum()

    def plain(layer, x, y):
        return ((x @ layer.weights[0] + y @ layer.weights[1] + layer.bias) ** 2).sum()

    found, wanted = (jax.grad(loss, (0, 1, 2))(layer, x, y) for loss in (ours, plain))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), found, wanted)


def test_the_gradient_of_a_weight_is_a_product_of_plain_matrices():
    layer, x = Linear(key(0), 60, 36), jnp.ones((4, 16, 60))

    def loss(layer):
        return (jax.vmap(jax.vmap(layer))(x) ** 2).sum()

    text = jax.jit(jax.grad(loss)).lower(layer).as_text()
    assert re.search(r"optimization_barrier %\S+ : tensor<36x60xf32>", text)  # d^T x, not yet transposed


def test_weights_of_numpy_can_be_batched_within_a_program():
    layers = jax.vmap(lambda k: Linear(k, 3, 2))(jax.random.split(key(0), 4))
    stored = jax.tree.map(np.asarray, layers)
    found = jax.jit(lambda x: jax.vmap(lambda layer: layer(x))(stored))(jnp.ones(3))
    np.testing.assert_allclose(found, jax.vmap(lambda layer: layer(jnp.ones(3)))(layers), rtol=1e-6)
