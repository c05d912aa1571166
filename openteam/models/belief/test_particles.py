"""The particle filter against computation by hand: one step, its weights, and what the released kind does otherwise."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, log_expit, log_softmax
from scipy.stats import norm

from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.types import Observation, Spec, View
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.gaussian import normal_divergence, normal_log_density
from openteam.models.belief.hypotheses import preprocess
from openteam.models.belief.latent_models import ParticleModels
from openteam.models.belief.particle_belief import ParticleBelief, ParticleSizes, hypotheses
from openteam.models.belief.particle_weight import ParticleWeights, action_weight, observation_weight
from openteam.models.belief.particles import Guess, recall
from openteam.models.belief.resampling import Multinomial, Systematic

SPEC = Spec(3, 2, 4)
NO, YES = jnp.zeros((), bool), jnp.ones((), bool)


RELEASED = ParticleModels(0.0, 0.0, types_in_states=True, score_function=True, bernoulli_visibility=True)


@functools.cache
def make(particles=2, over_slots="sum", weights=ParticleWeights(), models=ParticleModels()):
    return ParticleBelief(
        random.key(0), SPEC, Multinomial(), particles=particles, over_slots=over_slots, learned_spread=True,
        sizes=ParticleSizes(encoding=5, state=3, type_size=4, width=6), agent=AgentModelSizes(5, 5, 5),
        weights=weights, models=models,
    )  # fmt: skip


@once_jit
def advance(belief, particles, noise, view):
    """A step, compiled once for all beliefs of one kind."""
    return belief.advance(particles, noise, view)


def view(number, visible, previous=1, starts=NO, new=None):
    rows, shared = jax.random.normal(random.key(number), (len(visible), 3)), jnp.array([0.5, -0.5])
    obs = Observation(rows, shared, jnp.array(visible), jnp.ones(4, bool))
    return View(obs, starts, jnp.zeros(len(visible), bool) if new is None else jnp.array(new), jnp.asarray(previous))


def blank(belief, slots=2):
    return recall(belief.start(slots))[0]


@pytest.fixture(scope="module")
def two_steps():
    """A belief of two particles about two agents, before and after a step in which the teammate is out of sight."""
    belief = make()
    first = advance(belief, blank(belief), belief.draw(random.key(1), 2), view(1, (True, True), -1, YES))
    noise = belief.draw(random.key(2), 2)
    after = advance(belief, first, noise, view(2, (True, False)))
    return belief, first, noise, after


@pytest.mark.parametrize("over_slots", ["sum", "mean"])
def test_weights_are_those_computed_by_hand(two_steps, over_slots):
    _, before, noise, after = two_steps
    belief = make(over_slots=over_slots)
    weighed = advance(belief, before, noise, view(2, (True, False)))
    proposals, targets, seen = belief.proposals, belief.targets, preprocess(view(2, (True, False)))
    encoded = np.maximum(proposals.encoder(seen.agents, seen.shared), 0)
    ancestors = np.searchsorted(np.cumsum(jax.nn.softmax(before.log_weight)), noise.resample, side="right")
    for k, ancestor in enumerate(ancestors):
        state, exists = before.guess.state[ancestor], before.guess.exists[ancestor]
        known = jnp.concatenate([state, before.guess.type[ancestor]], -1)
        # actions: the learner's is known, the teammate's is the largest of its perturbed logits
        guess = proposals.action(jnp.concatenate([known, jnp.asarray(encoded)], -1), exists)
        target = targets.action(known, exists)
        chosen = int(np.argmax(guess[1] + noise.guess.action[k, 1]))
        action = jnp.stack([jax.nn.one_hot(1, 4), jax.nn.one_hot(chosen, 4) * exists[1]])
        np.testing.assert_allclose(after.guess.action[k], action, atol=1e-6)
        log_action = (log_softmax(target[1])[chosen] - log_softmax(guess[1])[chosen]) * float(exists[1])
        # existence of the teammate, who is out of sight, and the states of both
        history = jnp.concatenate([state, action, exists[:, None]], -1)
        features, mean, spread = proposals.state(history, jnp.asarray(encoded))
        logit = proposals.state.existence.logits(features, after.guess.exists[k])[1]
        there = float(noise.guess.exists[k, 1] < expit(logit))
        assert there == after.guess.exists[k, 1]
        target_features, target_mean, target_spread = targets.state(history)
        target_logit = targets.state.existence.logits(target_features, after.guess.exists[k])[1]
        sign = 1 if there else -1
        log_exists = log_expit(sign * target_logit) - log_expit(sign * logit)
        new = (mean + spread * noise.guess.state[k]) * np.array([[1.0], [there]])
        np.testing.assert_allclose(after.guess.state[k], new, rtol=1e-4, atol=1e-5)
        ratio = norm.logpdf(new, target_mean, target_spread) - norm.logpdf(new, mean, spread)
        log_state = ratio.sum(-1) * np.array([1, there])
        # the observation: rows [x, seen] of both, and u
        decoded = targets.observation(jnp.concatenate([new, action], -1), after.guess.exists[k])
        rows = np.concatenate([seen.agents[:, :3], seen.agents[:, -1:]], -1)
        log_rows = norm.logpdf(rows, decoded.rows, decoded.rows_spread).sum(-1)
        log_shared = norm.logpdf(seen.shared[:2], decoded.shared, decoded.shared_spread).sum()
        slots = np.array([log_state[0] + log_rows[0], log_action + log_exists + log_state[1] + log_rows[1]])
        expected = (slots.sum() if over_slots == "sum" else slots.mean()) + log_shared
        np.testing.assert_allclose(weighed.log_weight[k], expected, rtol=1e-4)


def test_who_does_not_exist_has_neither_state_nor_type(two_steps):
    belief, before, _, _ = two_steps
    unlucky = eqx.tree_at(lambda n: n.guess.exists, belief.draw(random.key(5), 2), jnp.ones((2, 2)))
    after = advance(belief, before, unlucky, view(2, (True, False)))
    np.testing.assert_array_equal(after.guess.exists, [[1, 0], [1, 0]])
    for gone in (after.guess.state, after.guess.type, after.guess.cell):
        assert not gone[:, 1].any()
    later = advance(belief, after, belief.draw(random.key(6), 2), view(3, (True, False)))
    assert not later.guess.action[:, 1].any()


def test_an_episode_that_starts_is_independent_of_the_last(two_steps):
    belief, before, noise, _ = two_steps
    now = view(4, (True, False), -1, YES)
    after, from_nothing = (advance(belief, particles, noise, now) for particles in (before, blank(belief)))
    jax.tree.map(np.testing.assert_array_equal, after, from_nothing)


def test_what_is_remembered_of_a_new_occupants_slot_is_ignored_and_the_rest_is_not(two_steps):
    belief, before, noise, _ = two_steps
    now = view(4, (True, True), new=(False, True))

    def change(slot):
        return eqx.tree_at(
            lambda p: p.guess, before, jax.tree.map(lambda leaf: leaf.at[:, slot].add(0.5), before.guess)
        )

    expected, changed, other = (advance(belief, particles, noise, now) for particles in (before, change(1), change(0)))
    jax.tree.map(np.testing.assert_array_equal, expected, changed)
    assert (expected.guess.state[:, 0] != other.guess.state[:, 0]).any()


@pytest.mark.parametrize("resampling", [Multinomial(), Systematic()])
def test_heavy_particles_are_kept_and_others_are_not(resampling):
    kept = resampling(jax.random.uniform(random.key(0), (4,)), jnp.array([-50.0, 0.0, -50.0, 0.0]))
    assert set(kept.tolist()) <= {1, 3}


def test_a_hypothesis_is_state_and_type(two_steps):
    belief, _, _, after = two_steps
    told = hypotheses(after, belief.predict(after.guess))
    np.testing.assert_array_equal(told.representation[..., :3], after.guess.state)
    np.testing.assert_array_equal(told.representation[..., 3:], after.guess.type)
    np.testing.assert_allclose(told.weight.sum(), 1, rtol=1e-6)


def test_particles_count_by_all_of_their_weight_by_the_observations_part_or_all_the_same(two_steps):
    terms = two_steps[3].terms
    whole, seen, none = (ParticleWeights(by)(terms) for by in ("all", "observation", "nothing"))
    np.testing.assert_allclose(whole, two_steps[3].log_weight, rtol=1e-6)
    np.testing.assert_allclose(whole - seen, terms.action + terms.existence + terms.state, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen, terms.rows + terms.shared, rtol=1e-6)
    assert not none.any()
    assert ParticleWeights("all", "nothing", "mean").frozen == ParticleWeights("nothing", None, "mean")
    assert ParticleWeights("observation").frozen == ParticleWeights("observation")


def test_the_mean_over_shared_features_changes_their_part_alone(two_steps):
    belief, before, noise, after = two_steps
    mean = make(weights=ParticleWeights(over_shared="mean"))
    terms, summed = (weigh(one, before, noise) for one in (mean, belief))
    np.testing.assert_allclose(terms.shared, summed.shared / 2, rtol=1e-5)
    np.testing.assert_allclose(terms.total - terms.shared, summed.total - summed.shared, rtol=1e-5)
    del after


@once_jit
def weigh(belief, before, noise):
    """The weights of two particles that were not resampled."""
    seen = preprocess(view(2, (True, False)))
    guess, proposal = belief.propose(before.guess, noise.guess, seen)
    return belief.weigh(before.guess, belief.predict(before.guess), guess, proposal, seen)


def test_the_divergence_is_the_mean_of_the_log_ratio_over_what_is_drawn():
    mean, spread, other_mean, other_spread = jnp.array(0.3), jnp.array(0.5), jnp.array(-0.2), jnp.array(0.8)
    x = mean + spread * jax.random.normal(random.key(0), (200_000,))
    ratio = normal_log_density(x, mean, spread) - normal_log_density(x, other_mean, other_spread)
    np.testing.assert_allclose(normal_divergence(mean, spread, other_mean, other_spread), ratio.mean(), atol=5e-3)
    assert normal_divergence(mean, spread, mean, spread) == 0


def test_released_actions_count_by_the_target_and_teach_the_proposal():
    belief = make(models=RELEASED)
    chosen = jnp.eye(4)[jnp.array([1, 2])]
    after = Guess(chosen, jnp.ones(2), jnp.zeros((2, 3)), jnp.zeros((2, 4)), jnp.zeros((2, 4)))
    predicted, drawn = jax.random.normal(random.key(0), (2, 2, 4))

    def weight(logits):
        predicted, drawn = logits
        seen = preprocess(view(2, (True, True)))
        proposal = belief.propose(recall(belief.start(2))[0].guess, belief.draw(random.key(1), 2).guess, seen)[1]
        proposal = eqx.tree_at(lambda p: p.action, jax.tree.map(lambda leaf: leaf[0], proposal), drawn)
        return action_weight(belief.targets, predicted, proposal, after).sum()

    value, (of_target, of_proposal) = once_jit(jax.value_and_grad(weight))((predicted, drawn))
    np.testing.assert_allclose(value, (log_softmax(predicted, -1) * chosen).sum(), rtol=1e-5)
    assert not of_target.any()
    np.testing.assert_allclose(of_proposal, chosen - jax.nn.softmax(drawn), rtol=1e-4, atol=1e-6)


def test_released_visibility_is_bernoulli_and_counts_once_per_feature():
    belief, seen = make(models=RELEASED), preprocess(view(2, (True, False)))
    after = jax.tree.map(lambda leaf: leaf[0] + 0.1, blank(belief).guess)
    rows, _ = observation_weight(belief.targets, after, seen)
    decoded = belief.targets.observation(belief.targets.models.explains(after), after.exists)
    features = norm.logpdf(seen.agents[:, :3], decoded.rows[:, :3], decoded.rows_spread[:, :3]).sum(-1)
    logit = np.asarray(decoded.rows[:, 3])
    np.testing.assert_allclose(rows, features + 3 * log_expit(logit * np.array([1, -1])), rtol=1e-4)


def test_a_filter_of_the_released_kind_takes_steps():
    belief = make(models=RELEASED)
    after = advance(belief, blank(belief), belief.draw(random.key(1), 2), view(1, (True, True), -1, YES))
    assert np.isfinite(after.log_weight).all()
