"""Existence, one agent after the other, against enumeration of all teams."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from openteam.core import random
from openteam.models.belief.existence import (
    AssumedExistence,
    ExistenceModel,
    ExpectedExistence,
    SampledExistence,
    log_bernoulli,
)

SLOTS, SIZE = 4, 3
MODEL = ExistenceModel(random.key(0), SIZE, width=8)
ROWS = jax.random.normal(random.key(1), (SLOTS, SIZE))
TEAMS = jnp.array([(1.0, *flags) for flags in itertools.product((0.0, 1.0), repeat=SLOTS - 1)])
NOBODY = jnp.zeros(SLOTS, bool)


def joint(team):
    """P(e) of one team, the learner given."""
    return jnp.exp(log_bernoulli(MODEL.logits(ROWS, team), team)[1:].sum())


def test_all_teams_together_have_probability_1():
    np.testing.assert_allclose(jax.vmap(joint)(TEAMS).sum(), 1, rtol=1e-5)


def test_an_agent_is_inferred_from_earlier_ones_only():
    flipped_later = MODEL.logits(ROWS, jnp.array([1.0, 1, 0, 1])), MODEL.logits(ROWS, jnp.ones(SLOTS))
    np.testing.assert_array_equal(flipped_later[0][:3], flipped_later[1][:3])
    assert flipped_later[0][3] != flipped_later[1][3]


def test_draws_are_as_frequent_as_the_joint_says():
    uniform = jax.random.uniform(random.key(2), (20_000, SLOTS))
    teams = jax.vmap(lambda numbers: MODEL.infer(ROWS, NOBODY, numbers))(uniform)
    frequency = (teams[:, None] == TEAMS).all(-1).mean(0)
    np.testing.assert_allclose(frequency, jax.vmap(joint)(TEAMS), atol=0.012)


def test_who_is_seen_exists_and_the_learner_always_does():
    seen = NOBODY.at[2].set(True)
    unlucky = MODEL.infer(ROWS, seen, jnp.ones(SLOTS))
    np.testing.assert_array_equal(unlucky, [1, 0, 1, 0])


def test_without_draws_everybody_counts_by_probability():
    exists = MODEL.infer(ROWS, NOBODY)
    np.testing.assert_allclose(exists[1:], jax.nn.sigmoid(MODEL.logits(ROWS, exists))[1:], rtol=1e-5)
    first = sum(joint(team) for team in TEAMS if team[1])
    np.testing.assert_allclose(exists[1], first, rtol=1e-5)  # nobody comes before the first, so it is exact


def test_nothing_learns_through_who_is_believed_to_exist():
    gradient = jax.grad(lambda rows: MODEL.infer(rows, NOBODY).sum())(ROWS)
    assert not gradient.any()


def test_each_rule_counts_the_unseen_in_its_own_way():
    seen = NOBODY.at[2].set(True)
    rules = (ExpectedExistence(), SampledExistence(), AssumedExistence())
    expected, sampled, assumed = (rule(random.key(3), MODEL, ROWS[None].repeat(50, 0), seen) for rule in rules)
    np.testing.assert_array_equal(expected, MODEL.infer(ROWS, seen)[None].repeat(50, 0))
    assert set(sampled[:, 1].tolist()) == {0, 1}
    np.testing.assert_array_equal(sampled[:, [0, 2]], 1)
    np.testing.assert_array_equal(assumed, 1)
