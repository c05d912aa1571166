"""Beliefs against the truth, by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.recurrent_gpl import RecurrentGPL
from openteam.analysis.reconstruction import judge, witness
from openteam.core import random
from openteam.core.belief import Belief
from openteam.core.types import Truth
from openteam.probes import PROBES, vigil
from openteam.rollout.belief_scores import METRICS, belief_scores, holds_belief, means, score
from openteam.teammates import UniformRandom

TINY = RecurrentGPL(
    envs=2, encoder_width=8, hidden=8, representation=6, decoder_width=8, utility_width=8, rank=2, message_width=6,
    embedding=6, readout_width=6,
)  # fmt: skip
HALF_LOG_2_PI = 0.5 * np.log(2 * np.pi)


@pytest.fixture(scope="module")
def scored():
    """Three slots: the learner, a teammate in sight, one out of sight; two hypotheses."""
    belief = Belief(
        weight=jnp.array([0.25, 0.75]),
        exists=jnp.array([[1.0, 1, 0], [1, 1, 1]]),
        actions=jnp.array([[[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]], [[0.5, 0.5], [0.6, 0.4], [0.9, 0.1]]]),
        agents=jnp.zeros((2, 3, 1)).at[1, 2, 0].set(1.0),
        shared=jnp.array([[2.0], [3.0]]),
    )
    truth = Truth(
        actions=jnp.array([0, 1, 0]),
        exists=jnp.ones(3, bool),
        types=jnp.zeros(3, jnp.int32),
        rewards=jnp.zeros(3),
        agents=jnp.array([[0.0], [1.0], [2.0]]),
        shared=jnp.array([3.0]),
    )
    return means(jax.jit(score)(belief, truth, jnp.array([True, True, False])))


def test_the_metrics_of_one_step(scored):
    seen, hidden = np.log(0.25 * 0.8 + 0.75 * 0.4), np.log(0.25 * 0.5 + 0.75 * 0.9)
    np.testing.assert_allclose(scored["seen_actions"], seen, rtol=1e-5)
    np.testing.assert_allclose(scored["all_actions"], (seen + hidden) / 2, rtol=1e-5)
    np.testing.assert_allclose(scored["existence_error"], (0.25 * 1 + 0.75 * 2 - 2) ** 2, rtol=1e-5)
    np.testing.assert_allclose(scored["effective_samples"], 1 / (0.25**2 + 0.75**2), rtol=1e-5)
    np.testing.assert_allclose(scored["entropy"], -(0.25 * np.log(0.25) + 0.75 * np.log(0.75)), rtol=1e-5)
    squares = 0.5 * (0 + 1 + (0.25 * 4 + 0.75 * 1) + 0.25 * 1)  # the learner, both teammates, u
    np.testing.assert_allclose(scored["state"], -squares / 4 - HALF_LOG_2_PI, rtol=1e-5)
    np.testing.assert_allclose(scored["hidden_state"], -0.5 * (0.25 * 4 + 0.75 * 1) - HALF_LOG_2_PI, rtol=1e-5)
    assert scored.keys() == METRICS.keys()


def test_somebody_who_believes_what_it_sees_is_judged_by_that_alone():
    belief = Belief(jnp.ones(1), jnp.ones((1, 2)), None, None, None)
    truth = Truth(
        jnp.zeros(2, jnp.int32),
        jnp.ones(2, bool),
        jnp.zeros(2, jnp.int32),
        jnp.zeros(2),
        jnp.zeros((2, 1)),
        jnp.zeros(1),
    )
    assert set(means(score(belief, truth, jnp.ones(2, bool)))) == {"existence_error", "effective_samples", "entropy"}


@pytest.fixture(scope="module")
def policy():
    return TINY.frozen(TINY.init(random.key(0), vigil().spec).model)


def test_judging_what_a_policy_played_itself_is_judging_its_own_play(policy):
    """The same numbers come out of acting and of watching oneself act, as nothing here is left to chance."""
    story = witness(vigil(), policy, random.key(1), 6)
    told = means(judge(policy, story, random.key(2)))
    assert story.going.sum(0).tolist() == [3] * 6
    again = means(judge(policy, story, random.key(3)))
    assert told == again
    assert set(told) <= set(METRICS)
    assert np.isfinite(list(told.values())).all()


def test_a_watcher_is_told_what_was_done(policy):
    """What the player did, not what the watcher would have done, is what it remembers."""
    story = witness(vigil(), UniformRandom(), random.key(1), 6)
    other = eqx.tree_at(lambda s: s.actions, story, 1 - story.actions)
    assert means(judge(policy, story, random.key(2))) != means(judge(policy, other, random.key(2)))


def test_a_belief_is_judged_where_something_is_hidden(policy):
    assert holds_belief(policy, vigil())
    assert not holds_belief(policy, PROBES["match"]())
    assert not holds_belief(UniformRandom(), vigil())
    scores = belief_scores(policy, vigil(), episodes=4)
    assert 0 <= scores["existence_error"] <= 1
