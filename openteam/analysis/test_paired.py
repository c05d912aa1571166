"""Paired differences, probability of improvement and profiles: scipy's, or computed by hand."""

import numpy as np
import pytest
from scipy import stats

from openteam.analysis.paired import paired_difference, probability_of_improvement, small_sample_factor
from openteam.analysis.profiles import performance_profile


@pytest.mark.parametrize("seeds", [2, 3, 8])
def test_a_paired_difference_and_its_interval_are_those_of_scipys_paired_t_test(seeds):
    chance = np.random.default_rng(seeds)
    ours, theirs = chance.normal(3, 2, seeds), chance.normal(2, 2, seeds)
    found = paired_difference(ours, theirs)
    low, high = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert found.pairs == seeds


def test_what_two_algorithms_share_of_a_seed_does_not_widen_their_difference():
    seeds = np.array([0.0, 50.0, -20.0, 7.0])
    shared = paired_difference(seeds + np.array([1.0, 1.1, 0.9, 1.0]), seeds)
    assert shared.mean == pytest.approx(1)
    assert shared.half < 0.2


def test_the_effect_size_is_the_mean_in_standard_deviations_without_small_samples_bias():
    """Differences 1, 2, 3: mean 2, deviation 1; J(2) = Γ(1) / Γ(1/2) = 1 / sqrt(π)."""
    found = paired_difference(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    assert found.effect == pytest.approx(2 / np.pi**0.5)
    assert small_sample_factor(19) == pytest.approx(1 - 3 / (4 * 19 - 1), rel=1e-3)  # Hedges' approximation


def test_the_effect_size_is_unbiased_over_small_samples():
    chance = np.random.default_rng(0)
    found = [paired_difference(chance.normal(0.5, 1, 8), np.zeros(8)).effect for _ in range(4000)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.03)


def test_few_or_equal_pairs_have_no_effect_size_and_one_has_no_interval():
    one, two = paired_difference(np.ones(1), np.zeros(1)), paired_difference(np.array([1.0, 2.0]), np.zeros(2))
    same = paired_difference(np.ones(4), np.zeros(4))
    assert np.isnan([one.half, one.effect, two.effect, same.effect]).all()
    assert (one.mean, two.mean, same.half) == (1, 1.5, 0)


def test_the_probability_of_improvement_is_mann_and_whitneys():
    chance = np.random.default_rng(1)
    ours, theirs = np.round(chance.normal(1, 2, 8)), np.round(chance.normal(0, 2, 5))  # rounded: there are ties
    expected = stats.mannwhitneyu(ours, theirs).statistic / 40
    assert probability_of_improvement([ours], [theirs], samples=10).probability == pytest.approx(expected)


def test_tasks_count_equally_however_many_seeds_they_have():
    better, worse = [np.ones(3), np.zeros(9)], [np.zeros(4), np.ones(9)]
    found = probability_of_improvement(better, worse, samples=50)
    assert (found.probability, found.low, found.high) == (0.5, 0.5, 0.5)


def test_two_seeds_make_no_interval_of_a_probability():
    found = probability_of_improvement([np.arange(5.0), np.ones(2)], [np.arange(5.0), np.zeros(3)])
    assert found.probability == 0.75
    assert np.isnan([found.low, found.high]).all()


def test_the_interval_of_an_improvement_agrees_with_scipys_bootstrap():
    chance = np.random.default_rng(2)
    ours, theirs = chance.normal(0.5, 1, 12), chance.normal(0, 1, 10)
    found = probability_of_improvement([ours], [theirs], samples=3000, seed=1)
    theirs_too = stats.bootstrap(
        (ours, theirs), lambda one, other: (one[:, None] > other).mean(), method="percentile", n_resamples=3000,
        vectorized=False, rng=np.random.default_rng(3),
    ).confidence_interval  # fmt: skip
    np.testing.assert_allclose((found.low, found.high), theirs_too, atol=0.03)


def test_a_profile_is_what_scipys_empirical_distribution_leaves_above():
    scores, thresholds = np.random.default_rng(4).normal(size=9), np.linspace(-2, 2, 7)
    found = performance_profile([scores], thresholds, samples=10)
    np.testing.assert_allclose(found.above, stats.ecdf(scores).sf.evaluate(thresholds))


def test_a_profile_over_tasks_by_hand():
    found = performance_profile([np.array([0.0, 1.0]), np.array([1.0, 1.0, 4.0])], np.array([-1.0, 0.0, 1.0, 4.0]))
    assert found.above.tolist() == pytest.approx([1, (1 / 2 + 1) / 2, (0 + 1 / 3) / 2, 0])
    assert (found.low <= found.above).all()
    assert (found.above <= found.high).all()
    assert found.low[1] == pytest.approx(0.5)  # the first task's seeds may both be the one with 0


def improvement(scores, seed):
    return probability_of_improvement(scores, scores[::-1], samples=99, seed=seed).low


def profile(scores, seed):
    return performance_profile(scores, np.zeros(1), samples=99, seed=seed).low[0]


@pytest.mark.parametrize("low", [improvement, profile])
def test_the_same_seed_gives_the_same_interval_and_some_other_does_not(low):
    scores = list(np.random.default_rng(5).normal(size=(2, 23)))
    assert low(scores, 3) == low(scores, 3)
    assert len({low(scores, seed) for seed in range(4)}) > 1
