import numpy as np
import pytest
from scipy import stats

from openteam.analysis.statistics import bootstrap_interval, interquartile_mean, mean_interval


@pytest.mark.parametrize("seeds", [2, 3, 8])
def test_the_mean_and_its_interval_are_those_of_scipy(seeds):
    values = np.random.default_rng(seeds).normal(3, 2, (seeds, 5))
    mean, half = mean_interval(values)
    low, high = stats.t.interval(0.95, seeds - 1, values.mean(0), stats.sem(values, axis=0))
    np.testing.assert_allclose([mean - half, mean + half], [low, high], rtol=1e-9)


def test_one_seed_has_a_mean_and_no_interval():
    mean, half = mean_interval(np.array([[1.0, 2.0]]))
    assert mean.tolist() == [1, 2]
    assert np.isnan(half).all()


@pytest.mark.parametrize("count", [1, 3, 4, 10, 24])
def test_the_interquartile_mean_is_scipys_trimmed_mean(count):
    scores = np.random.default_rng(count).normal(size=count) ** 3
    assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(scores, 0.25))


def test_one_bad_seed_in_four_does_not_move_the_interquartile_mean():
    assert interquartile_mean(np.array([1.0, 1.0, 1.0, -1000.0])) == 1


def test_the_stratified_bootstrap_agrees_with_scipys_of_several_samples():
    chance = np.random.default_rng(0)
    tasks = [chance.normal(level, 1, seeds) for level, seeds in ((0, 8), (5, 6), (9, 12))]
    ours = bootstrap_interval(tasks, samples=4000, seed=1)
    theirs = stats.bootstrap(
        tasks, lambda *samples: interquartile_mean(np.concatenate(samples)), method="percentile", n_resamples=4000,
        vectorized=False, rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    np.testing.assert_allclose(ours, theirs, atol=0.05 * (theirs.high - theirs.low))


def test_strata_keep_differences_between_tasks_out_of_the_interval():
    """Every task's seeds agree, so no resampling within tasks can change anything, however far apart tasks are."""
    assert bootstrap_interval([np.full(3, 1.0), np.full(3, 100.0)], np.mean) == (50.5, 50.5)


def test_the_same_seed_gives_the_same_interval_and_another_does_not():
    scores = [np.random.default_rng(0).normal(size=6)]
    assert bootstrap_interval(scores, seed=3) == bootstrap_interval(scores, seed=3)
    assert bootstrap_interval(scores, seed=3) != bootstrap_interval(scores, seed=4)
