"""The policy network: whom it considers, and how actions are drawn from its logits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core import random
from openteam.core.types import Observation, Spec, View
from openteam.models.policy import NetworkPolicy, PolicyNetwork, action_probabilities, draw_action

SPEC = Spec(agent_features=3, shared_features=4, actions=5)


def observe(visible, *, spec=SPEC, seed=0):
    rng = np.random.default_rng(seed)
    return Observation(
        agents=jnp.asarray(rng.normal(size=(len(visible), spec.agent_features)), jnp.float32),
        shared=jnp.asarray(rng.normal(size=spec.shared_features), jnp.float32),
        visible=jnp.array(visible),
        legal=jnp.array([True, False, True, False, True]),
    )


@pytest.fixture(scope="module")
def network():
    return PolicyNetwork(random.key(0), SPEC, SPEC.actions, width=16)


def reorder(obs, order):
    return eqx.tree_at(
        lambda o: (o.agents, o.visible), obs, (obs.agents[jnp.array(order)], obs.visible[jnp.array(order)])
    )


def test_the_order_of_the_others_does_not_matter_but_who_looks_does(network):
    obs = observe([True, True, True, False])
    np.testing.assert_allclose(network(obs), network(reorder(obs, [0, 3, 2, 1])), atol=1e-6)
    assert not np.allclose(network(obs), network(reorder(obs, [1, 0, 2, 3])), atol=1e-3)


def test_absent_agents_do_not_matter_and_those_present_do(network):
    obs = observe([True, True, False])
    for slot, matters in ((1, True), (2, False)):
        other = eqx.tree_at(lambda o: o.agents, obs, obs.agents.at[slot].add(1.0))
        assert np.allclose(network(obs), network(other), atol=1e-6) != matters


def test_it_works_in_teams_of_one_and_of_a_hundred_and_without_shared_features(network):
    alone = observe([True])
    crowd = eqx.tree_at(
        lambda o: (o.agents, o.visible), alone, (jnp.tile(alone.agents, (100, 1)), jnp.arange(100) == 0)
    )
    np.testing.assert_allclose(network(alone), network(crowd), atol=1e-6)
    bare = Spec(agent_features=3, shared_features=0, actions=5)
    assert PolicyNetwork(random.key(0), bare, 1, width=8)(observe([True, True], spec=bare)).shape == (1,)


def draws(logits, temperature, n=4000):
    keys = jax.random.split(random.key(1), n)
    drawn = jax.vmap(lambda key: draw_action(key, jnp.array(logits), jnp.asarray(temperature)))(keys)
    return np.bincount(drawn, minlength=len(logits)) / n


def test_at_temperature_one_actions_are_drawn_from_the_softmax():
    np.testing.assert_allclose(draws([0.0, 1.0, 2.0], 1.0), jax.nn.softmax(jnp.arange(3.0)), atol=0.03)


def test_a_higher_temperature_is_less_decided_and_zero_is_greedy():
    np.testing.assert_allclose(draws([0.0, 2.0, 4.0], 2.0), jax.nn.softmax(jnp.arange(3.0)), atol=0.03)
    assert draws([0.0, 0.1, 0.0], 0.0).tolist() == [0, 1, 0]


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 2.0])
def test_the_explained_probabilities_are_those_that_actions_are_drawn_with(temperature):
    logits = [0.0, 1.0, 2.0]
    probabilities = action_probabilities(jnp.array(logits), jnp.asarray(temperature))
    np.testing.assert_allclose(draws(logits, temperature), probabilities, atol=0.03)


@pytest.mark.parametrize("masks", [True, False])
def test_actions_without_effect_are_taken_only_by_a_policy_that_does_not_mask_them(network, masks):
    policy, obs = NetworkPolicy(network, jnp.ones(()), jnp.asarray(masks)), observe([True, True])
    view = View(obs, jnp.ones((), bool), obs.visible, jnp.asarray(-1))
    keys = jax.random.split(random.key(2), 500)
    decided = jax.vmap(lambda key: policy.decide(key, policy.start(2), view))(keys)
    assert set(np.asarray(decided.action).tolist()) == ({0, 2, 4} if masks else {0, 1, 2, 3, 4})
    assert (decided.explanation.probabilities[0] > 0).tolist() == [True, not masks] * 2 + [True]
    assert decided.explanation.value is None


def test_a_critic_says_what_the_state_is_worth(network):
    critic = PolicyNetwork(random.key(3), SPEC, 1, width=8)
    policy, obs = NetworkPolicy(network, jnp.ones(()), jnp.zeros((), bool), critic), observe([True, True])
    view = View(obs, jnp.ones((), bool), obs.visible, jnp.asarray(-1))
    assert policy.decide(random.key(4), policy.start(2), view).explanation.value == critic(obs)[0]
