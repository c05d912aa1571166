"""Gumbel noise makes draws from the softmax; gradients are those of the softmax."""

import jax
import jax.numpy as jnp
import numpy as np

from openteam.core import random
from openteam.models.straight_through import straight_through

LOGITS = jnp.array([1.0, 0.0, -1.0, 0.5])


def test_with_gumbel_noise_actions_are_as_frequent_as_their_probabilities():
    drawn = jax.jit(straight_through)(LOGITS + jax.random.gumbel(random.key(0), (20_000, 4)))
    np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(drawn.max(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(drawn.mean(0), jax.nn.softmax(LOGITS), atol=0.015)


def test_its_gradient_is_that_of_the_softmax():
    worth = jnp.array([3.0, -1.0, 0.5, 2.0])
    gradients = (jax.grad(lambda x, f=f: f(x) @ worth)(LOGITS) for f in (straight_through, jax.nn.softmax))
    np.testing.assert_allclose(*gradients, rtol=1e-6)
