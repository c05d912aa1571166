"""What belief learners have in common: values, losses, and that no decision looks at the truth."""

import dataclasses
import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.belief_learning import (
    BeliefModel,
    action_values,
    mean_values,
    previous_actions,
    values_of_seen,
)
from openteam.algorithms.particle_gpl import ParticleGPL
from openteam.algorithms.recurrent_gpl import RecurrentGPL
from openteam.compile_cache import once_jit, quick_jit
from openteam.core import random
from openteam.core.chunks import acted_on, over_chunk
from openteam.models.belief.hypotheses import Hypotheses, preprocess
from openteam.models.belief.particles import hypotheses
from openteam.models.joint_value import JointValueModel, joint_value
from openteam.probes import vigil
from openteam.rollout.acting import collect
from openteam.training.loop import start_carry

AGENT = {"message_width": 6, "embedding": 6, "readout_width": 6}
TINY = {"envs": 3, "update_every": 4, "utility_width": 8, "rank": 2, **AGENT}
RECURRENT = {"encoder_width": 8, "hidden": 8, "representation": 6, "decoder_width": 8, **TINY}
LEARNERS = {
    "ae-gpl": RecurrentGPL(**RECURRENT),
    "vae-gpl": RecurrentGPL(samples=3, learned_spread=True, exists="sampled", **RECURRENT),
    "pf-gpl": ParticleGPL(particles=3, sight=6, state=5, type_size=4, width=8, **TINY),
}
SLOTS, ACTIONS, SIZE = 4, 3, 5


def some_hypotheses(samples=2):
    keys = jax.random.split(random.key(0), 4)
    return Hypotheses(
        jax.random.normal(keys[0], (samples, SLOTS, SIZE)),
        jax.random.bernoulli(keys[1], 0.6, (samples, SLOTS)).astype(jnp.float32).at[:, 0].set(1),
        jax.random.normal(keys[2], (samples,)),
        jax.random.normal(keys[3], (samples, SLOTS, ACTIONS)),
    )


@pytest.mark.parametrize("form", ["factored", "edge"])
def test_teammates_out_of_sight_are_marginalised_exactly(form):
    model = JointValueModel(random.key(1), SIZE, ACTIONS, width=6, rank=2, form=form)
    told = some_hypotheses()
    visible, actions = jnp.array([True, False, True, False]), jnp.array([2, 0, 1, 1])
    values = values_of_seen(model, told, actions, visible)
    for k in range(2):
        utilities, p = model(told.representation[k]), np.asarray(jax.nn.softmax(told.logits[k]))
        expected = 0.0
        for first, last in itertools.product(range(ACTIONS), repeat=2):
            joint = jnp.array([2, first, 1, last])
            expected += p[1, first] * p[3, last] * joint_value(utilities, joint, told.exists[k] > 0)
        np.testing.assert_allclose(values[k], expected, rtol=1e-4)


def test_action_values_are_the_mean_over_hypotheses_by_weight():
    model = JointValueModel(random.key(1), SIZE, ACTIONS, width=6, rank=2, form="factored")
    told = some_hypotheses(3)
    each = action_values(model, told)
    weight = np.exp(told.log_weight) / np.exp(told.log_weight).sum()
    np.testing.assert_allclose(mean_values(each, told), weight @ each, rtol=1e-5)


@functools.cache
def lived(name):
    """A learner, its state, and a chunk of experience that begins and ends in the middle of episodes."""
    learner, task = LEARNERS[name], vigil()
    k_start, k_chunk = jax.random.split(random.key(3))
    carry = once_jit(start_carry)(task, learner, k_start)
    policy = learner.policy(carry.train.model, jnp.ones(()))
    return learner, carry, quick_jit(collect)(task, policy, carry.actor, k_chunk, 4)[1]


@pytest.fixture(params=LEARNERS)
def collected(request):
    return lived(request.param)


def everything_lost(chunk):
    """The chunk with all that is not known at decision time replaced by NaN, and unseen actions by nonsense."""
    truth = chunk.truth
    lost = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), (truth.agents, truth.shared, truth.rewards))
    seen = jax.tree.map(lambda leaf: leaf[:-1], chunk.timesteps.obs.visible)
    return eqx.tree_at(
        lambda c: (c.truth.agents, c.truth.shared, c.truth.rewards, c.truth.exists, c.truth.actions),
        chunk,
        (*lost, ~truth.exists, jnp.where(seen, truth.actions, 0)),
    )


def test_values_and_predictions_never_read_the_truth(collected):
    learner, carry, chunk = collected

    @quick_jit
    def losses(chunk):
        return learner.loss(random.key(0), carry.train.model, carry.train.target, chunk, jnp.ones(()))[1]

    told, blind = losses(chunk), losses(everything_lost(chunk))
    for name in ("value_loss", "agent_model_loss", "joint_value"):
        np.testing.assert_array_equal(told[name], blind[name], err_msg=name)
        assert np.isfinite(told[name])
    assert np.isnan(blind["state_loss"])
    assert blind["existence_loss"] != told["existence_loss"]


def test_acting_depends_on_nothing_but_what_was_seen(collected):
    """Comings and goings out of sight, which ``fresh`` tells, change neither action nor memory."""
    learner, carry, chunk = collected
    policy = learner.frozen(carry.train.model)
    obs = jax.tree.map(lambda leaf: leaf[1, 0], chunk.timesteps.obs)
    memory = jax.tree.map(lambda leaf: leaf[0, 0], chunk.memory)
    assert not chunk.timesteps.starts[1, 0]
    assert not obs.visible[1]
    act = quick_jit(policy.act)
    told = act(random.key(0), memory, obs, jnp.array([False, True]))
    untold = act(random.key(0), memory, obs, jnp.zeros(2, bool))
    jax.tree.map(np.testing.assert_array_equal, told, untold)


def test_replay_repeats_the_rollout(collected):
    _, carry, chunk = collected
    belief = carry.train.model.belief
    if not belief.resamples:
        pytest.skip("its memory is that of an LSTM, whose own test shows it")
    acted = acted_on(chunk)
    seen = over_chunk(preprocess)(acted.obs, previous_actions(chunk))
    memory = chunk.memory.belief
    replay = quick_jit(belief.replay)
    told, _ = replay(random.key(0), chunk.before.belief, memory, seen, acted.starts, chunk.truth)
    recorded = hypotheses(memory, over_chunk(belief.expect)(memory))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5), told, recorded)


def test_a_time_limit_that_is_only_a_limit_looks_at_the_true_successor():
    """The two ways to find successors agree where episodes end for good."""
    learner, carry, chunk = lived("ae-gpl")
    model, target = carry.train.model, carry.train.target

    @quick_jit
    def value_loss(spec):
        model_of_it = BeliefModel(model.belief, model.value, spec)
        return learner.loss(random.key(0), model_of_it, target, chunk, jnp.ones(()))[1]["value_loss"]

    either = (dataclasses.replace(model.spec, time_limit_terminates=terminates) for terminates in (True, False))
    np.testing.assert_allclose(*map(value_loss, either), rtol=1e-5)
