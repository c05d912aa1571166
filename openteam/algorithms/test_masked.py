"""Statistics that ignore those who are not there."""

import jax.numpy as jnp
import numpy as np

from openteam.algorithms.masked import masked_mean, normalised


def test_the_mean_is_over_those_it_concerns_and_zero_over_nobody():
    numbers = jnp.array([1.0, jnp.nan, 3.0])
    assert masked_mean(numbers, jnp.array([True, False, True])) == 2
    assert masked_mean(numbers, jnp.zeros(3, bool)) == 0


def test_only_masked_numbers_are_brought_to_mean_0_and_deviation_1():
    numbers, mask = jnp.array([1.0, 3.0, 77.0]), jnp.array([True, True, False])
    np.testing.assert_allclose(normalised(numbers, mask)[:2], [-1, 1], atol=1e-6)
