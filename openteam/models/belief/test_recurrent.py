"""Autoencoder and variational autoencoder: closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core import random
from openteam.core.types import NO_ACTION, Observation, Spec, View
from openteam.models.belief.decoder import Decoder, log_likelihood
from openteam.models.belief.gaussian import normal_log_density
from openteam.models.belief.hypotheses import Decoded, observed, preprocess
from openteam.models.belief.posterior import Gaussian, Point, mean_and_spread

SPEC = Spec(3, 2, 4)


def view(previous_action=2, visible=(True, True, False)):
    agents, shared = jax.random.normal(random.key(3), (3, 3)), jnp.array([0.5, -0.5])
    obs = Observation(agents, shared, jnp.array(visible), jnp.ones(4, bool))
    return View(obs, jnp.zeros((), bool), jnp.zeros(3, bool), jnp.asarray(previous_action))


def test_the_density_of_a_normal_is_scipys():
    x, mean, spread = jnp.array([0.3, -2.0]), jnp.array([0.0, 1.0]), jnp.array([0.5, 3.0])
    np.testing.assert_allclose(
        normal_log_density(x, mean, spread), jax.scipy.stats.norm.logpdf(x, mean, spread), rtol=1e-5
    )


def test_a_reconstruction_is_scored_by_the_mean_over_features_and_over_u():
    rows, shared = jnp.array([[1.0, 0], [0, 2]]), jnp.array([3.0])
    decoded = Decoded(jnp.zeros((2, 2)), jnp.ones((2, 2)), jnp.array([1.0]), jnp.array([2.0]))
    by_hand = -0.5 * np.log(2 * np.pi) - 0.5 * (1 + 4) / 4 + (-0.5 * np.log(2 * np.pi) - 0.5 * 1 - np.log(2))
    np.testing.assert_allclose(log_likelihood(decoded, rows, shared), by_hand, rtol=1e-6)


def test_of_the_absent_only_the_flag_counts():
    decoded = Decoded(jnp.zeros((2, 2)), jnp.ones((2, 2)), jnp.zeros(0), jnp.ones(0))
    rows, nothing = jnp.array([[1.0, 1], [7, 0]]), jnp.zeros(0)
    found = log_likelihood(decoded, rows, nothing, jnp.array([True, False]))
    np.testing.assert_allclose(found, -0.5 * np.log(2 * np.pi) - 0.5 * (1 + 1 + 0) / 3, rtol=1e-6)


def test_the_divergence_is_its_closed_form_and_an_integral():
    encoded = jnp.array([0.7, -0.2, 0.1, 1.3])
    mean, spread = (np.asarray(part, np.float64) for part in mean_and_spread(encoded))
    x = np.linspace(-30, 30, 200_001)
    density = np.exp(-0.5 * ((x[:, None] - mean) / spread) ** 2) / spread / np.sqrt(2 * np.pi)
    log_ratio = -0.5 * ((x[:, None] - mean) / spread) ** 2 - np.log(spread) + 0.5 * x[:, None] ** 2
    integral = np.trapezoid(density * log_ratio, x, axis=0).mean()
    np.testing.assert_allclose(Gaussian().divergence(encoded), integral, rtol=1e-5)
    np.testing.assert_allclose(Gaussian().divergence(jnp.array([0.0, 0, 0.54, 0.54])), 0, atol=1e-4)
    assert Point().divergence(encoded) is None


@pytest.mark.parametrize("density", ["sum", "mean"])
def test_a_sample_counts_by_its_density(density):
    encoded = jax.random.normal(random.key(0), (2, 6))
    mean, spread = mean_and_spread(encoded)
    samples, log_weight = Gaussian(5, density).sample(random.key(1), encoded)
    log_density = jax.scipy.stats.norm.logpdf(samples, mean, spread)
    expected = log_density.sum((1, 2)) if density == "sum" else log_density.mean((1, 2))
    np.testing.assert_allclose(jax.nn.softmax(log_weight), jax.nn.softmax(expected), rtol=1e-4)


def test_samples_have_the_mean_and_the_spread_that_the_encoder_says():
    encoded = jax.random.normal(random.key(0), (2, 6))
    mean, spread = mean_and_spread(encoded)
    samples, _ = Gaussian(20_000).sample(random.key(1), encoded)
    np.testing.assert_allclose(samples.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(samples.std(0), spread, atol=0.05)


def test_preprocessing_adds_flags_and_the_own_action_and_hides_the_unseen():
    seen = preprocess(view(2))
    np.testing.assert_array_equal(seen.agents[:, -2:], [[1, 1], [0, 1], [0, 0]])
    assert not seen.agents[2].any()
    np.testing.assert_array_equal(seen.shared, [0.5, -0.5, 0, 0, 1, 0])
    np.testing.assert_array_equal(preprocess(view(NO_ACTION)).shared[2:], 0)
    rows, shared = observed(seen)
    np.testing.assert_array_equal(rows[:, -1], [1, 1, 0])
    np.testing.assert_array_equal(shared, [0.5, -0.5])


def test_those_who_do_not_exist_add_nothing_to_what_all_share():
    decoder = Decoder(random.key(0), 5, SPEC, width=8, learned_spread=True)
    rows = jax.random.normal(random.key(1), (3, 5))
    exists = jnp.array([1.0, 1, 0])
    before, after = decoder(rows, exists), decoder(rows.at[2].add(1), exists)
    np.testing.assert_array_equal(before.shared, after.shared)
    assert (before.rows_spread > 0).all()
    assert (before.shared_spread > 0).all()
