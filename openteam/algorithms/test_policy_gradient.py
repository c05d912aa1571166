"""The equations of actor-critic methods by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.policy_gradient import entropy, generalised_advantages, log_probability, n_step_returns


def column(*numbers):
    return jnp.array(numbers)[:, None]


def test_advantages_of_three_steps_by_hand():
    decay = column(0.5, 0.0, 0.5)  # something ends in the second step
    assert generalised_advantages(column(1.0, 2.0, 4.0), decay)[:, 0].tolist() == [1 + 0.5 * 2, 2, 4]


def test_returns_go_on_with_a_value_only_where_an_episode_is_cut_or_time_runs_out():
    reward, value = column(1.0, 2.0, 4.0, 8.0), column(100.0, 200.0, 300.0, 400.0)
    discount = column(0.5, 0.5, 0.0, 0.5)  # the third step truly ends an episode
    ends = column(False, True, True, False)  # the second is cut by a time limit
    returns = jax.jit(n_step_returns)(reward, discount, ends, value)[:, 0]
    assert returns.tolist() == [1 + 0.5 * (2 + 0.5 * 200), 2 + 0.5 * 200, 4, 8 + 0.5 * 400]


def test_entropy_and_log_probability_of_a_known_distribution():
    logits = jnp.log(jnp.array([0.5, 0.25, 0.25])) + 3
    assert entropy(logits) == pytest.approx(1.5 * np.log(2))
    assert log_probability(logits, jnp.asarray(1)) == pytest.approx(np.log(0.25))
