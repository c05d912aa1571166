"""The learned particle filter: densities, weights and the evidence lower bound against the same in plain numpy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from openteam.core import random
from openteam.core.types import NO_ACTION
from openteam.models.belief.filter import Filter, FilterNoise, FilterState
from openteam.models.belief.normal import FLOOR, Normal
from openteam.models.belief.resampling import log_mean_exp

INPUTS, ACTIONS, PARTICLES, LATENT, HIDDEN = 2, 3, 4, 2, 3
NO = jnp.zeros((), bool)


@pytest.fixture(scope="module")
def model():
    make = jax.jit(
        lambda key: Filter(
            key, INPUTS, ACTIONS, particles=PARTICLES, observation_width=5, action_size=2, latent=LATENT, hidden=HIDDEN
        )
    )
    return make(random.key(0))


@pytest.fixture(scope="module")
def step(model):
    return eqx.filter_jit(model.step)


def draw(seed):
    """A belief in the middle of an episode, and noise for the next step."""
    rng = np.random.default_rng(seed)
    hidden, normals = rng.normal(size=(PARTICLES, HIDDEN)), rng.normal(size=(PARTICLES, LATENT))
    state = FilterState(jnp.float32(hidden), jnp.float32(rng.normal(size=PARTICLES)))
    return state, FilterNoise(jnp.float32(rng.random()), jnp.float32(normals))


def linear(layer, *inputs):
    return sum(np.asarray(x) @ np.asarray(w) for x, w in zip(inputs, layer.weights, strict=True)) + np.asarray(
        layer.bias
    )


def relu(x):
    return np.maximum(x, 0)


def normal(network, *inputs):
    """Mean and deviation."""
    first, *rest = network.trunk.layers
    hidden = relu(linear(first, *inputs))
    for layer in rest:
        hidden = relu(linear(layer, hidden))
    return linear(network.mean, hidden), np.sqrt(np.logaddexp(0, linear(network.variance, hidden)) + FLOOR)


def test_log_density_is_that_of_independent_normals():
    rng = np.random.default_rng(0)
    mean, x, variance = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.uniform(0.1, 3, (3, 2))
    density = Normal(jnp.float32(mean), jnp.float32(variance)).log_density(jnp.float32(x))
    np.testing.assert_allclose(density, stats.norm.logpdf(x, mean, np.sqrt(variance)).sum(-1), rtol=1e-5)


def test_weights_and_evidence_of_a_step_by_hand(model, step):
    (particles, noise), seen, action = draw(1), np.array([0.7, -1.0], np.float32), 2
    after, latent = step(particles, jnp.asarray(seen), jnp.asarray(action), NO, noise)

    weight = np.exp(particles.log_weight) / np.exp(particles.log_weight).sum()
    positions = (np.asarray(noise.resampling) + np.arange(PARTICLES)) / PARTICLES
    chosen = np.searchsorted(np.cumsum(weight), positions, side="right")
    assert len(set(chosen)) < PARTICLES
    hidden = np.asarray(particles.hidden)[chosen]

    encoded = relu(linear(model.observation.layers[1], relu(linear(model.observation.layers[0], seen))))
    did = relu(linear(model.action, np.eye(ACTIONS)[action]))
    q_mean, q_deviation = normal(model.proposal, encoded, hidden, did)
    z = q_mean + q_deviation * np.asarray(noise.proposal)
    phi_z = relu(linear(model.latent, z))
    np.testing.assert_allclose(latent, phi_z, atol=1e-5)

    log_weight = (
        stats.norm.logpdf(z, *normal(model.prior, hidden, did)).sum(-1)
        + stats.norm.logpdf(seen, *normal(model.emission, phi_z, hidden, did)).sum(-1)
        - stats.norm.logpdf(z, q_mean, q_deviation).sum(-1)
    )
    np.testing.assert_allclose(after.log_weight, log_weight, atol=1e-4)
    assert log_mean_exp(after.log_weight) == pytest.approx(np.log(np.exp(log_weight).mean()), abs=1e-4)
    np.testing.assert_allclose(after.hidden, eqx.filter_jit(model.transition)(hidden, encoded, phi_z, did), atol=1e-5)


def test_with_many_particles_the_evidence_is_the_integral_over_the_latent():
    many = Filter(
        random.key(1), INPUTS, ACTIONS, particles=5000, observation_width=5, action_size=2, latent=1, hidden=HIDDEN
    )
    particles, seen = many.start()[0], jnp.array([0.7, -1.0])
    after, _ = eqx.filter_jit(many.step)(particles, seen, jnp.asarray(2), NO, many.draw(random.key(2)))

    grid = np.linspace(-12, 12, 4001)[:, None]
    hidden, did = np.zeros((1, HIDDEN)), relu(linear(many.action, np.eye(ACTIONS)[2]))
    prior = stats.norm.pdf(grid, *normal(many.prior, hidden, did)).prod(-1)
    emission = stats.norm.pdf(seen, *normal(many.emission, relu(linear(many.latent, grid)), hidden, did)).prod(-1)
    exact = np.log(np.trapezoid(prior * emission, grid[:, 0]))
    assert log_mean_exp(after.log_weight) == pytest.approx(exact, abs=0.02)
    assert after.log_weight.mean() < exact - 0.01  # the bound of a single particle is looser


def test_the_start_of_an_episode_forgets_particles_and_weights_and_there_is_no_last_action(model, step):
    (one, noise), (other, _) = draw(1), draw(2)
    seen, yes, none = jnp.array([0.7, -1.0]), jnp.ones((), bool), jnp.asarray(NO_ACTION)
    first = step(one, seen, none, yes, noise)
    jax.tree.map(np.testing.assert_array_equal, first, step(other, seen, none, yes, noise))
    blank, _ = model.start()
    jax.tree.map(np.testing.assert_array_equal, first, step(blank, seen, none, NO, noise))
    for action in range(ACTIONS):
        assert (step(one, seen, jnp.asarray(action), yes, noise)[0].hidden != first[0].hidden).any()


def test_a_gradient_leads_through_what_a_particle_remembers_but_not_through_its_being_chosen(model):
    particles, noise = draw(3)

    def evidence(hidden, log_weight):
        after, _ = model.step(FilterState(hidden, log_weight), jnp.zeros(INPUTS), jnp.asarray(0), NO, noise)
        return log_mean_exp(after.log_weight)

    to_hidden, to_weight = jax.jit(jax.grad(evidence, (0, 1)))(particles.hidden, particles.log_weight)
    assert to_hidden.any()
    assert not to_weight.any()
