"""Orthogonal weights, whatever the shape of the network."""

import jax
import jax.numpy as jnp
import numpy as np

from openteam.core import random
from openteam.models.layers import MLP
from openteam.models.orthogonal import orthogonal


def test_every_linear_layer_is_orthogonal_over_all_its_inputs_together_and_nothing_else_changes():
    network = (MLP(random.key(0), (3, 2), 4, 7, activation=jnp.tanh), jnp.arange(3.0))
    (mlp, numbers), gain = jax.jit(lambda key: orthogonal(key, network, 1.5))(random.key(1)), 1.5
    wide, tall = (np.concatenate(layer.weights) / gain for layer in mlp.layers)
    np.testing.assert_allclose(wide.T @ wide, np.eye(4), atol=1e-5)
    np.testing.assert_allclose(tall @ tall.T, np.eye(4), atol=1e-5)
    assert [weight.shape for weight in mlp.layers[0].weights] == [(3, 4), (2, 4)]
    assert not any(layer.bias.any() for layer in mlp.layers)
    assert mlp.activation is jnp.tanh
    np.testing.assert_array_equal(numbers, np.arange(3.0))
