"""A sum over actions, taken term by term, is the sum, and so is its gradient."""

import jax
import numpy as np

from openteam.core.random import key
from openteam.models.utilities import over_actions


def test_a_sum_over_actions_and_its_gradient():
    k_values, k_out = jax.random.split(key(0))
    values, out = jax.random.normal(k_values, (4, 3, 2, 5)), jax.random.normal(k_out, (4, 3, 2))

    def ours(values):
        return (out * jax.vmap(over_actions)(values) ** 2).sum()

    def plain(values):
        return (out * values.sum(-1) ** 2).sum()

    found, wanted = (jax.value_and_grad(loss)(values) for loss in (ours, plain))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), found, wanted)
