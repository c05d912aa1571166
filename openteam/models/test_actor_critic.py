"""Actors and critics: an update sees what the rollout saw, and a decision comes with its value and probabilities."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core import random
from openteam.core.types import Spec, over_chunk
from openteam.errors import UserError
from openteam.models.actor_critic import FlatNetworks, SetNetworks
from openteam.probes import PROBES
from openteam.rollout.acting import collect, start_actor

ENVS, STEPS = 4, 12
NETWORKS = {"flat": FlatNetworks(max_agents=4, width=8), "set": SetNetworks(width=8)}


@pytest.fixture(scope="module", params=NETWORKS)
def rollout(request):
    """A chunk of several episodes in each of which somebody joins, the networks' inputs, and the decisions again."""
    task = PROBES["teammate_joins"]()

    @eqx.filter_jit
    def play(k_init, k_start, k_steps, k_again):
        model = NETWORKS[request.param].init(k_init, task.spec)
        policy = model.policy(jnp.ones(()), jnp.zeros((), bool))
        _, chunk = collect(task, policy, start_actor(task, policy, k_start, ENVS), k_steps, STEPS)
        inputs, next_inputs = model.inputs(chunk)
        memory, view = (
            jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest[:-1]]), *memories(chunk)),
            views(chunk),
        )
        again = over_chunk(policy.decide)(jax.random.split(k_again, (STEPS, ENVS)), memory, view)
        value, logits = over_chunk(model.critic)(inputs)[..., 0], over_chunk(model.actor)(inputs)
        return chunk, inputs, next_inputs, again, (value, logits)

    def memories(chunk):
        return chunk.before, chunk.memory

    def views(chunk):
        return chunk.timesteps.view

    return request.param, *play(*(random.key(n) for n in range(4)))


def test_an_update_looks_at_what_the_policy_looked_at(rollout):
    _, chunk, inputs, next_inputs, again, (value, logits) = rollout
    np.testing.assert_allclose(again.explanation.value, value, atol=1e-6)
    np.testing.assert_allclose(again.explanation.probabilities, jax.nn.softmax(logits), atol=1e-6)
    goes_on = ~np.asarray(chunk.next_timesteps.ends)[:-1]
    assert 0 < goes_on.sum() < goes_on.size
    for now, after in zip(*map(jax.tree.leaves, (inputs, next_inputs)), strict=True):
        np.testing.assert_array_equal(np.asarray(now)[1:][goes_on], np.asarray(after)[:-1][goes_on])


def test_probabilities_are_even_at_first_and_all_fixed_slots_are_used(rollout):
    name, chunk, inputs, _, again, _ = rollout
    np.testing.assert_allclose(again.explanation.probabilities, 0.5, atol=0.05)
    if name == "flat":
        rows = np.asarray(inputs)[..., :12].reshape(-1, 4, 3)
        taken = (rows != -1).any(-1)
        assert taken[:, 0].all()
        assert (taken[:, 1:].sum(1) == np.asarray(chunk.timesteps.view.obs.visible)[..., 1].ravel()).all()
        assert taken[:, 1:].any(0).all()


def test_a_newcomer_in_sight_gets_a_new_entry_and_the_others_keep_theirs(rollout):
    name, chunk, *_ = rollout
    if name == "set":
        assert chunk.memory.slots == ()
        return
    entry, view = np.asarray(chunk.memory.slots), chunk.timesteps.view
    before = np.concatenate([np.asarray(chunk.before.slots)[None], entry[:-1]])
    fresh = np.asarray(view.fresh)
    np.testing.assert_array_equal(entry[~fresh], before[~fresh])
    joins = np.asarray(view.new & ~view.starts[..., None])[..., 1]
    assert (entry[..., 1] != before[..., 1])[joins].any()
    assert (entry[..., 0] == 0).all()


def test_a_team_larger_than_the_fixed_slots_is_refused_and_any_team_fits_a_set():
    spec = Spec(agent_features=3, shared_features=2, actions=2)
    small, any_size = (
        eqx.filter_eval_shape(lambda n=n: n.init(jax.random.key(0), spec).policy(jnp.ones(()), jnp.zeros((), bool)))
        for n in (FlatNetworks(max_agents=2), SetNetworks())
    )
    with pytest.raises(UserError, match="at most 2 agents and the team has room for 3"):
        small.start(3)
    any_size.start(300)
