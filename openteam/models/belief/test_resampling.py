"""Resampling: as often as weights say, whatever the weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core import random
from openteam.models.belief.resampling import effective_sample_size, gather, log_mean_exp, multinomial, systematic

NEVER = -np.inf
draw_systematic = jax.jit(jax.vmap(systematic, (0, None)))
draw_multinomial = jax.jit(jax.vmap(multinomial, (0, None)))
WEIGHTS = {
    "uneven": [0.5, -1.0, 2.0, 0.0, -3.0, 0.1, 0.2],
    "equal": [7.0] * 7,
    "one is zero": [0.0, NEVER, 1.0, 0.4, -0.3, 1.2, 0.9],
    "last are zero": [1.0, 0.3, 0.1, -0.7, 0.2, NEVER, NEVER],
    "one is all": [NEVER, NEVER, 3.0, NEVER, NEVER, NEVER, NEVER],
    "far apart": [-1000.0, 0.0, 1000.0, 999.0, 0.0, -50.0, 998.0],
    "alone": [-4.0],
}


def normalised(log_weight):
    weight = np.exp(np.array(log_weight) - max(log_weight))
    return weight / weight.sum()


def counts(indices, particles):
    """How often each was chosen, for every row of draws."""
    return (np.asarray(indices)[..., None] == np.arange(particles)).sum(-2)


@pytest.fixture(params=WEIGHTS)
def log_weight(request):
    return WEIGHTS[request.param]


def test_systematic_draws_are_weights_times_particles_on_average_and_never_off_by_one(log_weight):
    grid = (np.arange(4096) + 0.5) / 4096  # integrates the steps of u exactly, but for the cells they fall into
    indices = draw_systematic(jnp.asarray(grid, jnp.float32), jnp.array(log_weight))
    expected = len(log_weight) * normalised(log_weight)
    chosen = counts(indices, len(log_weight))
    np.testing.assert_allclose(chosen.mean(0), expected, atol=2 / 4096)
    assert (np.abs(chosen - expected) < 1 + 1e-5).all()


def test_multinomial_draws_are_weights_times_particles_on_average(log_weight):
    rows, size = 4000, len(log_weight)
    uniforms = jax.random.uniform(random.key(0), (rows, size))
    chosen = counts(draw_multinomial(uniforms, jnp.array(log_weight)), size)
    weight = normalised(log_weight)
    np.testing.assert_allclose(chosen.mean(0), size * weight, atol=4 * np.sqrt(size * 0.25 / rows))
    assert chosen[:, weight == 0].sum() == 0


def test_the_ends_of_the_interval_choose_particles_that_have_weight(log_weight):
    ends, weight = jnp.array([0.0, 1 - 2**-24]), normalised(log_weight)
    for draw, uniforms in (
        (draw_systematic, ends),
        (draw_multinomial, jnp.broadcast_to(ends[:, None], (2, len(weight)))),
    ):
        assert (weight[draw(uniforms, jnp.array(log_weight))] > 0).all()


@pytest.mark.parametrize("size", [1, 2, 10, 20])
def test_equal_weights_choose_everybody_once(size):
    chosen = draw_systematic(jnp.array([0.001, 0.5, 0.999]), jnp.zeros(size))
    np.testing.assert_array_equal(chosen, np.tile(np.arange(size), (3, 1)))


def test_no_gradient_leads_through_the_choice():
    def chosen_sum(log_weight, values):
        return gather(values, systematic(jnp.float32(0.3), log_weight)).sum()

    gradient = jax.jit(jax.grad(chosen_sum, (0, 1)))
    to_weight, to_values = gradient(jnp.array([0.0, 2.0, -1.0]), jnp.array([1.0, 5.0, 9.0]))
    assert to_weight.tolist() == [0, 0, 0]
    assert to_values.tolist() == [1, 2, 0]


def test_gathering_takes_everything_of_a_particle():
    taken = gather((jnp.arange(3), jnp.arange(6.0).reshape(3, 2)), jnp.array([2, 2, 0]))
    assert [leaf.tolist() for leaf in taken] == [[2, 2, 0], [[4, 5], [4, 5], [0, 1]]]


def test_the_mean_weight_and_the_number_of_particles_that_count_by_hand():
    weights = np.log([[1.0, 2.0, 3.0], [7.0, 7.0, 7.0]])
    log_weight = jnp.array([weights[0], weights[0] - 1000, weights[1], [0.0, NEVER, NEVER]])
    mean, size = jax.jit(jax.vmap(lambda row: (log_mean_exp(row), effective_sample_size(row))))(log_weight)
    np.testing.assert_allclose(mean, [np.log(2), np.log(2) - 1000, np.log(7), -np.log(3)], rtol=1e-6)
    np.testing.assert_allclose(size, [36 / 14, 36 / 14, 3, 1], rtol=1e-3)
