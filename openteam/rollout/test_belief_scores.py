"""Beliefs against the truth, by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.belief_gpl import BeliefGPL
from openteam.algorithms.beliefs import Autoencoder
from openteam.analysis.reconstruction import keep_watched, score_beliefs
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.policy import Belief
from openteam.core.types import Truth
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.recurrent import AutoencoderSizes
from openteam.models.joint_value import Factored
from openteam.probes import PROBES, remember_teammate
from openteam.rollout.belief_scores import METRICS, WEIGHT_METRICS, belief_scores, holds_belief, means, score
from openteam.rollout.episodes import play
from openteam.teammates import UniformRandom

TINY = BeliefGPL(
    belief=Autoencoder(AutoencoderSizes(8, 8, 6, 8)), envs=2, utility_width=8, pairwise=Factored(2),
    agent_model=AgentModelSizes(6, 6, 6),
)  # fmt: skip
PARTS = ("action", "existence", "state", "rows", "shared", "divergence")
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
        terms={name: jnp.array([0.0, float(number)]) for number, name in enumerate(PARTS, 1)},
    )
    truth = Truth(
        actions=jnp.array([0, 1, 0]),
        exists=jnp.ones(3, bool),
        type_ids=jnp.zeros(3, jnp.int32),
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
    assert scored.keys() == METRICS.keys() | WEIGHT_METRICS.keys()


def test_what_weights_are_worth(scored):
    """The same errors if both hypotheses counted the same, and how much each part of the weight tells them apart."""
    hidden = -0.5 * (0.5 * 4 + 0.5 * 1) - HALF_LOG_2_PI
    np.testing.assert_allclose(scored["uniform_existence_error"], (1.5 - 2) ** 2, rtol=1e-5)
    np.testing.assert_allclose(scored["uniform_seen_actions"], np.log((0.8 + 0.4) / 2), rtol=1e-5)
    np.testing.assert_allclose(scored["uniform_hidden_state"], hidden, rtol=1e-5)
    for number, name in enumerate(PARTS[:-1], 1):
        np.testing.assert_allclose(scored[f"spread_{name}"], number / 2, rtol=1e-5)
    np.testing.assert_allclose(scored["spread_total"], (1 + 2 + 3 + 4 + 5) / 2, rtol=1e-5)
    np.testing.assert_allclose(scored["divergence"], 6 / 2, rtol=1e-5)


def test_somebody_who_believes_what_it_sees_is_scored_by_that_alone():
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
    return TINY.frozen(once_jit(TINY.init)(random.key(0), remember_teammate().spec).model)


def watch(player):
    return play(remember_teammate(), player, random.key(1), 6, keep_watched).kept


def test_watching_what_a_policy_played_itself_gives_the_scores_of_its_own_play(policy):
    """Acting and watching oneself act are the same here, where nothing is random."""
    watched = watch(policy)
    assert watched.counts.sum(0).tolist() == [3] * 6
    scores = means(score_beliefs(policy, watched, random.key(2)))
    assert scores == means(score_beliefs(policy, watched, random.key(3)))
    assert set(scores) <= set(METRICS)
    assert np.isfinite(list(scores.values())).all()


def test_a_watcher_knows_what_the_player_did(policy):
    """The player's own actions are part of what it saw, so they matter to whoever watches."""
    watched = watch(UniformRandom())
    actions = watched.view.previous_action
    other = eqx.tree_at(lambda w: w.view.previous_action, watched, jnp.where(actions < 0, actions, 1 - actions))
    before, after = (means(score_beliefs(policy, each, random.key(2))) for each in (watched, other))
    assert before != after


def test_a_belief_is_scored_where_something_is_hidden(policy):
    assert holds_belief(policy, remember_teammate())
    assert not holds_belief(policy, PROBES["match"]())
    assert not holds_belief(UniformRandom(), remember_teammate())
    scores = belief_scores(policy, remember_teammate(), episodes=4)
    assert 0 <= scores["existence_error"] <= 1
