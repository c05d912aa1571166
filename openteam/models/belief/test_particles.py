"""The particle filter against computation by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, log_expit, log_softmax
from scipy.stats import norm

from openteam.compile_cache import quick_jit
from openteam.core import random
from openteam.core.types import Observation, Spec
from openteam.models.belief.hypotheses import preprocess
from openteam.models.belief.particles import ParticleBelief, hypotheses

SPEC = Spec(3, 2, 4)
SIZES = {"sight": 5, "state": 3, "type_size": 4, "width": 6, "agent": {"width": 5, "embedding": 5, "readout_width": 5}}


def make(particles=2, resampling="multinomial", over_slots="sum"):
    return ParticleBelief(
        random.key(0), SPEC, particles=particles, learned_spread=True, resampling=resampling, over_slots=over_slots,
        **SIZES,
    )  # fmt: skip


def look(number, visible, previous=1):
    rows, shared = jax.random.normal(random.key(number), (len(visible), 3)), jnp.array([0.5, -0.5])
    obs = Observation(rows, shared, jnp.array(visible), jnp.ones(4, bool))
    return preprocess(obs, jnp.asarray(previous))


NO, YES = jnp.zeros((), bool), jnp.ones((), bool)


@pytest.fixture(scope="module")
def two_steps():
    """A belief of two particles about two agents, before and after a step in which the teammate is out of sight."""
    belief = make()
    step = quick_jit(belief.advance)
    first, _ = step(belief.start(2), belief.draw(random.key(1), 2), look(1, (True, True), -1), YES)
    noise = belief.draw(random.key(2), 2)
    after, _ = step(first, noise, look(2, (True, False)), NO)
    return belief, first, noise, after


@pytest.mark.parametrize("over_slots", ["sum", "mean"])
def test_weights_are_those_computed_by_hand(two_steps, over_slots):
    _, before, noise, after = two_steps
    belief = make(over_slots=over_slots)
    weighed, _ = quick_jit(belief.advance)(before, noise, look(2, (True, False)), NO)
    seen = look(2, (True, False))
    sight = np.maximum(belief.see(seen.agents, seen.shared), 0)
    ancestors = np.searchsorted(np.cumsum(jax.nn.softmax(before.log_weight)), noise.resample, side="right")
    for k, ancestor in enumerate(ancestors):
        state, exists = before.state[ancestor], before.exists[ancestor]
        known = jnp.concatenate([state, before.type.hidden[ancestor]], -1)
        # actions: the learner's is known, the teammate's is the largest of its perturbed logits
        guess = belief.proposed_action(jnp.concatenate([known, jnp.asarray(sight)], -1), exists)
        target = belief.agent(known, exists)
        chosen = int(np.argmax(guess[1] + noise.actions[k, 1]))
        action = jnp.stack([jax.nn.one_hot(1, 4), jax.nn.one_hot(chosen, 4) * exists[1]])
        np.testing.assert_allclose(after.action[k], action, atol=1e-6)
        log_action = (log_softmax(target[1])[chosen] - log_softmax(guess[1])[chosen]) * float(exists[1])
        # existence of the teammate, who is out of sight, and the states of both
        before_it = state, action, exists[:, None]
        features, mean, spread = belief.proposed(*before_it, jnp.asarray(sight))
        logit = belief.proposed.existence.logits(features, exists=after.exists[k])[1]
        there = float(noise.exists[k, 1] < expit(logit))
        assert there == after.exists[k, 1]
        target_features, target_mean, target_spread = belief.target(*before_it)
        target_logit = belief.target.existence.logits(target_features, exists=after.exists[k])[1]
        sign = 1 if there else -1
        log_exists = log_expit(sign * target_logit) - log_expit(sign * logit)
        new = (mean + spread * noise.state[k]) * np.array([[1.0], [there]])
        np.testing.assert_allclose(after.state[k], new, rtol=1e-4, atol=1e-5)
        ratio = norm.logpdf(new, target_mean, target_spread) - norm.logpdf(new, mean, spread)
        log_state = ratio.sum(-1) * np.array([1, there])
        # the observation: rows [x, seen] of both, and u
        decoded = belief.observation(jnp.concatenate([new, action], -1), after.exists[k])
        rows = np.concatenate([seen.agents[:, :3], seen.agents[:, -1:]], -1)
        log_rows = norm.logpdf(rows, decoded.rows, decoded.rows_spread).sum(-1)
        log_shared = norm.logpdf(seen.shared[:2], decoded.shared, decoded.shared_spread).sum()
        slots = np.array([log_state[0] + log_rows[0], log_action + log_exists + log_state[1] + log_rows[1]])
        expected = (slots.sum() if over_slots == "sum" else slots.mean()) + log_shared
        np.testing.assert_allclose(weighed.log_weight[k], expected, rtol=1e-4)


def test_who_does_not_exist_has_neither_state_nor_type(two_steps):
    belief, before, _, _ = two_steps
    unlucky = eqx.tree_at(lambda n: n.exists, belief.draw(random.key(5), 2), jnp.ones((2, 2)))
    after, _ = quick_jit(belief.advance)(before, unlucky, look(2, (True, False)), NO)
    np.testing.assert_array_equal(after.exists, [[1, 0], [1, 0]])
    for gone in (after.state, after.type.hidden, after.type.cell):
        assert not gone[:, 1].any()
    later, _ = quick_jit(belief.advance)(after, belief.draw(random.key(6), 2), look(3, (True, False)), NO)
    assert not later.action[:, 1].any()


def test_one_particle_without_chance_is_a_plain_recurrent_network():
    belief = make(particles=1)
    step = quick_jit(belief.advance)
    still = jax.tree.map(jnp.zeros_like, belief.draw(random.key(0), 2))
    memory, state, types = belief.start(2), jnp.zeros((2, 3)), belief.types.start(2)
    exists = jnp.zeros(2)
    for number in range(3):
        seen = look(number, (True, True), number - 1)
        memory, _ = step(memory, still, seen, jnp.asarray(number == 0))
        sight = jax.nn.relu(belief.see(seen.agents, seen.shared))
        known = jnp.concatenate([state, types.hidden, sight], -1)
        action = jax.nn.one_hot(jnp.argmax(belief.proposed_action(known, exists), -1), 4) * exists[:, None]
        action = action.at[0].set(jax.nn.one_hot(number - 1, 4))
        _, state, _ = belief.proposed(state, action, exists[:, None], sight)
        types = belief.types.step(types, jnp.concatenate([state, action], -1), NO[None].repeat(2))
        exists = jnp.ones(2)
        np.testing.assert_allclose(memory.state[0], state, rtol=1e-5)
        np.testing.assert_allclose(memory.type.hidden[0], types.hidden, rtol=1e-5)


def test_an_episode_that_starts_owes_nothing_to_the_last(two_steps):
    belief, before, noise, _ = two_steps
    seen = look(4, (True, False), -1)
    again, _ = quick_jit(belief.advance)(before, noise, seen, YES)
    anew, _ = quick_jit(belief.advance)(belief.start(2), noise, seen, YES)
    jax.tree.map(np.testing.assert_array_equal, again, anew)


@pytest.mark.parametrize("resampling", ["multinomial", "systematic"])
def test_heavy_particles_go_on_and_others_do_not(resampling):
    belief = make(particles=4, resampling=resampling)
    memory = belief.start(2)
    memory = eqx.tree_at(lambda m: m.log_weight, memory, jnp.array([-50.0, 0.0, -50.0, 0.0]))
    memory = eqx.tree_at(lambda m: m.state, memory, jnp.arange(4.0)[:, None, None] * jnp.ones((4, 2, 3)))
    kept = belief.resample(memory, jax.random.uniform(random.key(0), (4,)))
    assert set(kept.state[:, 0, 0].tolist()) <= {1.0, 3.0}


def test_a_hypothesis_is_state_and_type(two_steps):
    _, _, _, after = two_steps
    told = hypotheses(after)
    np.testing.assert_array_equal(told.representation[..., :3], after.state)
    np.testing.assert_array_equal(told.representation[..., 3:], after.type.hidden)
    np.testing.assert_allclose(told.weight.sum(), 1, rtol=1e-6)
