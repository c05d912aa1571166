"""Behaviours and targets against values computed by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.control import (
    AbstractControl,
    QLearning,
    Schedule,
    SoftPolicyIteration,
    choice_probabilities,
    choose,
    q_target,
    spi_target,
)
from openteam.core import random
from openteam.errors import UserError

LN2 = np.log(2.0)
DRAWS = 20_000


@eqx.filter_jit
def frequencies(control: AbstractControl, values: jax.Array, progress: jax.Array) -> jax.Array:
    """How often each action is chosen."""
    keys = jax.random.split(random.key(0), DRAWS)
    actions = jax.vmap(lambda key: control.act(key, values, progress))(keys)
    return (actions[:, None] == jnp.arange(len(values))).mean(0)


def at(progress: float) -> jax.Array:
    return jnp.asarray(progress, jnp.float32)


def constant(value: float) -> Schedule:
    return Schedule(value, value)


@pytest.mark.parametrize(
    ("progress", "expected"), [(0.0, 1.0), (0.375, 0.525), (0.75, 0.05), (0.9, 0.05), (1.0, 0.05), (2.0, 0.05)]
)
def test_a_schedule_is_linear_and_then_constant(progress, expected):
    np.testing.assert_allclose(Schedule(1.0, 0.05, 0.75)(at(progress)), expected, atol=1e-6)


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5])
def test_a_schedule_that_never_or_too_late_ends_is_refused(fraction):
    with pytest.raises(UserError, match="fraction"):
        Schedule(1.0, 0.0, fraction)


@pytest.mark.parametrize(
    ("epsilon", "progress", "expected"),
    [
        (constant(0.3), 0.0, [0.1, 0.8, 0.1]),
        (constant(0.0), 0.0, [0, 1, 0]),
        (Schedule(1.0, 0.0), 0.0, [1 / 3, 1 / 3, 1 / 3]),
        (Schedule(1.0, 0.0), 0.375, [1 / 6, 2 / 3, 1 / 6]),
        (Schedule(1.0, 0.0), 1.0, [0, 1, 0]),
    ],
)
def test_epsilon_greedy_explores_uniformly_and_as_often_as_scheduled(epsilon, progress, expected):
    chosen = frequencies(QLearning(epsilon), jnp.array([0.0, 2.0, 1.0]), at(progress))
    np.testing.assert_allclose(chosen, expected, atol=0.015)


def test_epsilon_is_spread_over_legal_actions_and_the_best_legal_one_has_the_rest():
    values, control = jnp.array([1.0, 3.0, 2.0, 0.0]), QLearning(constant(0.4))
    chances = choice_probabilities(values, None, control, at(0.0))
    np.testing.assert_allclose(chances, [0.1, 0.7, 0.1, 0.1], atol=1e-6)
    legal = jnp.array([True, False, True, False])
    np.testing.assert_allclose(choice_probabilities(values, legal, control, at(0.0)), [0.2, 0, 0.8, 0], atol=1e-6)
    np.testing.assert_array_equal(choice_probabilities(values, legal, None, at(0.0)), [0, 0, 1, 0])


def test_q_learning_expects_the_best_action():
    values = jnp.array([[1.0, 3.0, 2.0], [-jnp.inf, -5.0, -4.0]])
    np.testing.assert_array_equal(QLearning().next_value(values, at(0.0)), [3, -4])


# Odds of 1 : 2 : 4 at temperature 1 and of 1 : 4 : 16 at one half.
VALUES = (0.0, LN2, 2 * LN2)


@pytest.mark.parametrize(
    ("temperature", "expected"), [(1.0, [1 / 7, 2 / 7, 4 / 7]), (0.5, [1 / 21, 4 / 21, 16 / 21]), (0.01, [0, 0, 1])]
)
def test_soft_policy_iteration_acts_with_boltzmann_probabilities(temperature, expected):
    chosen = frequencies(SoftPolicyIteration(constant(temperature)), jnp.array(VALUES), at(0.0))
    np.testing.assert_allclose(chosen, expected, atol=0.015)


@pytest.mark.parametrize(
    ("temperature", "expected"),
    # 2/7 ln 2 + 4/7 ln 4 = 10/7 ln 2;  4/21 ln 2 + 16/21 ln 4 = 36/21 ln 2;  ln 4
    [(1.0, 10 / 7 * LN2), (0.5, 36 / 21 * LN2), (0.001, 2 * LN2)],
)
def test_soft_policy_iteration_expects_its_own_behaviour(temperature, expected):
    control = SoftPolicyIteration(constant(temperature))
    np.testing.assert_allclose(control.next_value(jnp.array(VALUES), at(0.0)), expected, rtol=1e-5)


def test_the_temperature_follows_its_schedule():
    control, values = SoftPolicyIteration(Schedule(1.0, 0.5, 1.0)), jnp.array(VALUES)
    np.testing.assert_allclose(control.next_value(values, at(0.0)), 10 / 7 * LN2, rtol=1e-5)
    np.testing.assert_allclose(control.next_value(values, at(1.0)), 36 / 21 * LN2, rtol=1e-5)


@pytest.mark.parametrize("control", [QLearning(constant(1.0)), SoftPolicyIteration(constant(1.0))], ids=["q", "spi"])
@pytest.mark.parametrize("legal", [(0, 2), (1, 2), (3,)])
def test_masked_actions_are_never_chosen_and_the_others_all_are(control, legal):
    values = jnp.full(4, -jnp.inf).at[jnp.array(legal)].set(0.5)
    chosen = frequencies(control, values, at(0.0))
    np.testing.assert_allclose(chosen, np.isin(np.arange(4), legal) / len(legal), atol=0.015)
    assert (chosen[~np.isin(np.arange(4), legal)] == 0).all()


@pytest.mark.parametrize("temperature", [1.0, 0.01])
def test_masked_actions_leave_the_soft_value_finite(temperature):
    values = jnp.array([[-jnp.inf, 1.0, 1.0], [2.0, -jnp.inf, -jnp.inf]])
    worth = SoftPolicyIteration(constant(temperature)).next_value(values, at(0.0))
    np.testing.assert_allclose(worth, [1, 2], rtol=1e-6)


def test_targets_add_the_discounted_value_of_the_successor_to_the_reward():
    reward, discount = jnp.array([1.0, -2.0]), jnp.array([0.5, 0.0])
    values = jnp.array([VALUES, VALUES], jnp.float32)
    np.testing.assert_allclose(q_target(reward, discount, values), [1 + 0.5 * 2 * LN2, -2], rtol=1e-6)
    np.testing.assert_allclose(spi_target(reward, discount, values, at(1.0)), [1 + 5 / 7 * LN2, -2], rtol=1e-6)
    for control, expected in ((QLearning(), q_target), (SoftPolicyIteration(constant(1.0)), spi_target)):
        arguments = (reward, discount, values) + ((at(1.0),) if expected is spi_target else ())
        np.testing.assert_array_equal(control.target(reward, discount, values, at(0.0)), expected(*arguments))


@pytest.mark.parametrize(
    "control", [QLearning(constant(0.3)), SoftPolicyIteration(constant(0.5)), None], ids=["q", "spi", "greedy"]
)
@pytest.mark.parametrize("legal", [None, (True, False, True)], ids=["any", "masked"])
def test_the_stated_probabilities_are_those_of_what_is_done(control, legal):
    values, legal = jnp.array(VALUES), legal if legal is None else jnp.array(legal)
    keys = jax.random.split(random.key(1), DRAWS)
    actions = jax.jit(jax.vmap(lambda key: choose(key, values, legal, control, at(0.0))))(keys)
    stated = choice_probabilities(values, legal, control, at(0.0))
    np.testing.assert_allclose(stated, (actions[:, None] == jnp.arange(3)).mean(0), atol=0.015)
    np.testing.assert_allclose(stated.sum(), 1, rtol=1e-6)
