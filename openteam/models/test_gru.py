"""The gated recurrent unit against the same in plain numpy."""

import equinox as eqx
import jax
import numpy as np

from openteam.core import random
from openteam.models.gru import GRU


def test_a_gated_recurrent_unit_by_hand():
    unit = jax.jit(lambda key: GRU(key, (3, 2), 4))(random.key(0))
    rng = np.random.default_rng(0)
    hidden, x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 4), (5, 3), (2,)))
    new = x @ unit.input.weights[0] + y @ unit.input.weights[1] + unit.input.bias
    old = hidden @ unit.memory.weights[0] + unit.memory.bias
    reset, update = (1 / (1 + np.exp(-(new[:, part] + old[:, part]))) for part in (slice(0, 4), slice(4, 8)))
    expected = (1 - update) * np.tanh(new[:, 8:] + reset * old[:, 8:]) + update * hidden
    np.testing.assert_allclose(eqx.filter_jit(unit)(hidden, x, y), expected, atol=1e-5)
