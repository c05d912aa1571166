"""The released code's stop rule, by hand and in play."""

import numpy as np
import pytest

import openteam
from openteam.analysis.released_rule import evaluate_as_released
from openteam.analysis.stop_rule import as_released, finished_returns


def test_all_stop_when_the_first_environment_has_finished_its_episodes():
    rewards = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0], [3.0, 30.0, 300.0], [4.0, 40.0, 400.0]])
    ends = np.array([[1, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 1]], bool)
    # Environment 0 ends its second episode in the third step; environment 1 has ended none, environment 2 one.
    assert finished_returns(rewards, ends, 2).tolist() == [1, 5, 300]
    assert finished_returns(rewards, ends, 1).tolist() == [1]
    assert finished_returns(rewards, ends, 3).tolist() == [1, 5, 4, 100, 300, 700]


def test_episodes_that_end_together_are_all_counted():
    rewards, ends = np.ones((4, 3)), np.array([[0] * 3, [1] * 3, [0] * 3, [1] * 3], bool)
    assert finished_returns(rewards, ends, 2).tolist() == [2] * 6


def test_where_all_episodes_are_equally_long_the_rule_changes_nothing():
    task = openteam.make("probe-delayed")
    means = evaluate_as_released(openteam.UniformRandom(), task, repeats=3)
    plain = openteam.evaluate(openteam.UniformRandom(), task, episodes=16)
    assert means == pytest.approx([plain.mean] * 3)


def test_the_rule_can_be_resampled_from_episodes_and_counts_short_ones_more():
    returns, lengths = np.array([-10.0, 10.0]), np.array([20.0, 100.0])
    assert as_released(returns, np.array([100.0, 100.0])) == pytest.approx(0, abs=0.5)
    assert as_released(returns, lengths) < -2
