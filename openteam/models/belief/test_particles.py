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
from openteam.core.types import Observation, Spec, Truth
from openteam.models.belief.hypotheses import preprocess
from openteam.models.belief.particles import ParticleBelief, hypotheses
from openteam.models.belief.resampling import log_mean_exp

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
    first = step(belief.start(2), belief.draw(random.key(1), 2), look(1, (True, True), -1), YES)
    noise = belief.draw(random.key(2), 2)
    after = step(first, noise, look(2, (True, False)), NO)
    return belief, first, noise, after


@pytest.mark.parametrize("over_slots", ["sum", "mean"])
def test_weights_are_those_computed_by_hand(two_steps, over_slots):
    _, before, noise, after = two_steps
    belief = make(over_slots=over_slots)
    weighed = quick_jit(belief.advance)(before, noise, look(2, (True, False)), NO)
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
        before_it = jnp.concatenate([state, action, exists[:, None]], -1)
        features, mean, spread = belief.proposed(before_it, jnp.asarray(sight))
        logit = belief.proposed.existence.logits(features, exists=after.exists[k])[1]
        there = float(noise.exists[k, 1] < expit(logit))
        assert there == after.exists[k, 1]
        target_features, target_mean, target_spread = belief.target(before_it)
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
    after = quick_jit(belief.advance)(before, unlucky, look(2, (True, False)), NO)
    np.testing.assert_array_equal(after.exists, [[1, 0], [1, 0]])
    for gone in (after.state, after.type.hidden, after.type.cell):
        assert not gone[:, 1].any()
    later = quick_jit(belief.advance)(after, belief.draw(random.key(6), 2), look(3, (True, False)), NO)
    assert not later.action[:, 1].any()


def test_replay_differentiates_what_was_done():
    """Its shortcuts have the value and the gradient of one step after the other."""
    belief, steps = make(particles=3), 3
    seen = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(look(n, (True, n != 1), n - 1) for n in range(steps)))
    noise = jax.vmap(lambda key: belief.draw(key, 2))(jax.random.split(random.key(1), steps))
    starts = jnp.array([False, False, True])
    before = belief.advance(belief.start(2), belief.draw(random.key(2), 2), look(9, (True, True), -1), YES)
    truth = Truth(
        jnp.zeros((steps, 1, 2), jnp.int32), jnp.ones((steps, 1, 2), bool), jnp.zeros((steps, 1, 2), jnp.int32),
        jnp.zeros((steps, 1, 2)), jnp.ones((steps, 1, 2, 3)), jnp.ones((steps, 1, 2)),
    )  # fmt: skip

    def plain(belief):
        def step(particles, now):
            after = belief.advance(particles, *now)
            return after, after

        return jax.lax.scan(step, before, (noise, seen, starts))[1]

    def of_plain(belief):
        particles = plain(belief)
        return -jax.vmap(log_mean_exp)(particles.log_weight).mean() + (particles.state**2).mean()

    def add(tree):
        return jax.tree.map(lambda leaf: leaf[:, None], tree)

    def of_replay(belief):
        alone = jax.tree.map(lambda leaf: leaf[None], before)
        memory = add(jax.lax.stop_gradient(plain(belief)))
        told, terms = belief.replay(random.key(0), alone, memory, add(seen), add(starts), truth)
        return terms["belief_loss"] + (told.representation[..., :3] ** 2).mean()

    expected, found = (quick_jit(jax.value_and_grad(loss))(belief) for loss in (of_plain, of_replay))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5), expected, found)


def test_one_particle_without_chance_is_a_plain_recurrent_network():
    belief = make(particles=1)
    step = quick_jit(belief.advance)
    still = jax.tree.map(jnp.zeros_like, belief.draw(random.key(0), 2))
    memory, state, types = belief.start(2), jnp.zeros((2, 3)), belief.types.start(2)
    exists = jnp.zeros(2)
    for number in range(3):
        seen = look(number, (True, True), number - 1)
        memory = step(memory, still, seen, jnp.asarray(number == 0))
        sight = jax.nn.relu(belief.see(seen.agents, seen.shared))
        known = jnp.concatenate([state, types.hidden, sight], -1)
        action = jax.nn.one_hot(jnp.argmax(belief.proposed_action(known, exists), -1), 4) * exists[:, None]
        action = action.at[0].set(jax.nn.one_hot(number - 1, 4))
        _, state, _ = belief.proposed(jnp.concatenate([state, action, exists[:, None]], -1), sight)
        types = belief.types.step(types, jnp.concatenate([state, action], -1), NO[None].repeat(2))
        exists = jnp.ones(2)
        np.testing.assert_allclose(memory.state[0], state, rtol=1e-5)
        np.testing.assert_allclose(memory.type.hidden[0], types.hidden, rtol=1e-5)


def test_an_episode_that_starts_owes_nothing_to_the_last(two_steps):
    belief, before, noise, _ = two_steps
    seen = look(4, (True, False), -1)
    again = quick_jit(belief.advance)(before, noise, seen, YES)
    anew = quick_jit(belief.advance)(belief.start(2), noise, seen, YES)
    jax.tree.map(np.testing.assert_array_equal, again, anew)


@pytest.mark.parametrize("resampling", ["multinomial", "systematic"])
def test_heavy_particles_go_on_and_others_do_not(resampling):
    belief = make(particles=4, resampling=resampling)
    kept = belief.resample(jnp.array([-50.0, 0.0, -50.0, 0.0]), jax.random.uniform(random.key(0), (4,)))
    assert set(kept.tolist()) <= {1, 3}


def test_a_hypothesis_is_state_and_type(two_steps):
    belief, _, _, after = two_steps
    told = hypotheses(after, belief.expect(after))
    np.testing.assert_array_equal(told.representation[..., :3], after.state)
    np.testing.assert_array_equal(told.representation[..., 3:], after.type.hidden)
    np.testing.assert_allclose(told.weight.sum(), 1, rtol=1e-6)
