"""GPL on a belief: values, losses, what a decision may depend on, and the laws of its memory."""

import dataclasses
import functools
import inspect
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from openteam.algorithms.belief_gpl import (
    BeliefGPL,
    BeliefModel,
    action_values,
    mean_values,
    squared_error,
    visible_joint_values,
)
from openteam.algorithms.beliefs import Autoencoder, ParticleFilter, VariationalAutoencoder
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.memory import permute, resize
from openteam.core.types import over_chunk
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.existence import SampledExistence
from openteam.models.belief.hypotheses import Hypotheses
from openteam.models.belief.particle_belief import ParticleSizes, hypotheses
from openteam.models.belief.particles import recall
from openteam.models.belief.recurrent import AutoencoderSizes
from openteam.models.joint_value import Factored, JointValueModel, PerEdge, joint_value
from openteam.models.lstm import without_gates
from openteam.probes import remember_teammate
from openteam.rollout.acting import collect
from openteam.training.loop import start_carry

RECURRENT = AutoencoderSizes(encoder_width=8, hidden=8, representation=6, decoder_width=8)
BELIEFS = {
    "ae-gpl": Autoencoder(RECURRENT),
    "vae-gpl": VariationalAutoencoder(samples=3, sizes=RECURRENT, existence=SampledExistence()),
    "pf-gpl": ParticleFilter(particles=3, sizes=ParticleSizes(encoding=6, state=5, type_size=4, width=8)),
}
SLOTS, ACTIONS, SIZE = 4, 3, 5


def learner_on(belief):
    return BeliefGPL(
        belief=belief, envs=3, update_every=4, utility_width=8, pairwise=Factored(2),
        agent_model=AgentModelSizes(6, 6, 6),
    )  # fmt: skip


def some_hypotheses(samples=2):
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(samples, SLOTS, SIZE)), rng.uniform(size=(samples, SLOTS)) < 0.6
    drawn[1][:, 0] = True
    more = rng.normal(size=samples), rng.normal(size=(samples, SLOTS, ACTIONS))
    return Hypotheses(*(jnp.asarray(numbers, jnp.float32) for numbers in (*drawn, *more)))


@once_jit
def value_model(pairwise):
    return JointValueModel(random.key(1), SIZE, ACTIONS, width=6, pairwise=pairwise)


@pytest.mark.parametrize("pairwise", [Factored(2), PerEdge(2)])
def test_teammates_out_of_sight_are_marginalised_exactly(pairwise):
    model, told = value_model(pairwise), some_hypotheses()
    visible, actions = jnp.array([True, False, True, False]), jnp.array([2, 0, 1, 1])
    values = once_jit(visible_joint_values)(model, told, actions, visible)
    value_of = once_jit(lambda model, rows, joint, exists: joint_value(model(rows), joint, exists))
    rows, exists, p = np.asarray(told.representation), told.exists > 0, softmax(told.logits, -1)
    for k in range(2):
        expected = 0.0
        for first, last in itertools.product(range(ACTIONS), repeat=2):
            joint = np.array([2, first, 1, last], np.int32)
            expected += p[k, 1, first] * p[k, 3, last] * value_of(model, rows[k], joint, np.asarray(exists)[k])
        np.testing.assert_allclose(values[k], expected, rtol=1e-4)


def test_action_values_are_the_mean_over_hypotheses_by_weight():
    model, told = value_model(Factored(2)), some_hypotheses(3)
    each = once_jit(action_values)(model, told)
    weight = np.exp(told.log_weight) / np.exp(told.log_weight).sum()
    np.testing.assert_allclose(mean_values(each, told), weight @ each, rtol=1e-5)


def test_errors_are_squared_one_by_one_or_as_their_mean():
    td_error, weight = jnp.array([[1.0, 3.0], [2.0, -2.0]]), jnp.array([[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(squared_error(td_error, weight, "each"), (7 + 4) / 2)
    np.testing.assert_allclose(squared_error(td_error, weight, "mean"), (2.5**2 + 0) / 2)


@functools.cache
def played(name):
    """A learner, its state, and a chunk of experience that begins and ends in the middle of episodes."""
    learner, task = learner_on(BELIEFS[name]), remember_teammate()
    k_start, k_chunk = jax.random.split(random.key(3))
    carry = inspect.unwrap(start_carry)(task, learner, k_start)
    policy = learner.policy(carry.train.model, jnp.ones(()))
    return learner, carry, once_jit(collect)(task, policy, carry.actor, k_chunk, 4)[1]


@once_jit
def decide(policy, memory, view):
    """A decision, compiled once for each belief."""
    return policy.decide(random.key(0), memory, view)


@pytest.fixture(params=BELIEFS)
def collected(request):
    return played(request.param)


def everything_lost(chunk):
    """The chunk with all that is not known at decision time replaced by NaN, and unseen actions by nonsense."""
    truth = chunk.truth
    lost = jax.tree.map(
        lambda leaf: np.full_like(leaf, np.nan), jax.device_get((truth.agents, truth.shared, truth.rewards))
    )
    seen = chunk.timesteps.view.obs.visible
    return eqx.tree_at(
        lambda c: (c.truth.agents, c.truth.shared, c.truth.rewards, c.truth.exists, c.truth.actions),
        chunk,
        (*lost, ~np.asarray(truth.exists), np.where(seen, truth.actions, 0)),
    )


def test_values_and_predictions_never_read_the_truth(collected):
    learner, carry, chunk = collected

    @once_jit
    def losses(chunk):
        return learner.loss(random.key(0), carry.train.model, carry.train.target, chunk, jnp.ones(()))[1]

    informed, blind = losses(chunk), losses(everything_lost(chunk))
    for name in ("value_loss", "agent_model_loss", "joint_value"):
        np.testing.assert_array_equal(informed[name], blind[name], err_msg=name)
        assert np.isfinite(informed[name])
    assert np.isnan(blind["state_loss"])
    assert blind["existence_loss"] != informed["existence_loss"]


def in_the_middle(chunk):
    """A view and the memory before it, in the middle of an episode, with the teammate out of sight."""
    view = jax.tree.map(lambda leaf: leaf[1, 0], chunk.timesteps.view)
    assert not view.starts
    assert not view.obs.visible[1]
    return view, jax.tree.map(lambda leaf: leaf[0, 0], chunk.memory)


def swap_teammate(memory):
    """Another teammate's memory in slot 1."""
    other = jax.tree.map(lambda leaf: leaf.at[1].set(1 - 0.7 * leaf[1]), memory.slots)
    return eqx.tree_at(lambda m: m.slots, memory, other)


def test_a_new_occupant_in_sight_is_met_without_the_memory_of_the_last(collected):
    learner, carry, chunk = collected
    view, memory = in_the_middle(chunk)
    policy = learner.frozen(carry.train.model)
    for visible, new, same in ((True, True, True), (True, False, False), (False, False, False)):
        now = eqx.tree_at(lambda v: (v.obs.visible, v.new), view, (jnp.array([True, visible]), jnp.array([False, new])))
        values = [decide(policy, before, now).explanation.action_values for before in (memory, swap_teammate(memory))]
        assert np.array_equal(*values) == same, (visible, new)


def test_growing_and_shrinking_the_team_changes_no_decision(collected):
    learner, carry, chunk = collected
    view, memory = in_the_middle(chunk)
    policy, memory = learner.frozen(carry.train.model), without_gates(memory)
    larger = resize(memory, policy.start(5))
    assert {len(leaf) for leaf in jax.tree.leaves(larger.slots)} == {5}
    again = resize(larger, policy.start(2))
    jax.tree.map(np.testing.assert_array_equal, decide(policy, memory, view), decide(policy, again, view))


@pytest.mark.parametrize("name", ["ae-gpl", "vae-gpl"])
def test_permuting_slots_permutes_memory(name):
    """That of particles in a test of their own: their memory also depends on noise, which has slots too."""
    learner, carry, chunk = played(name)
    policy, order = learner.frozen(carry.train.model), jnp.array([0, 3, 1, 2])
    view, memory = in_the_middle(chunk)
    memory = resize(without_gates(memory), policy.start(4))
    rows = jax.random.normal(random.key(1), (4, view.obs.agents.shape[-1]))
    wide = eqx.tree_at(
        lambda v: (v.obs.agents, v.obs.visible, v.new), view, (rows, jnp.ones(4, bool), jnp.arange(4) == 2)
    )
    moved = eqx.tree_at(lambda v: (v.obs.agents, v.new), wide, (rows[order], wide.new[order]))
    act = once_jit(policy.act)
    _, after = act(random.key(0), memory, wide)
    _, permuted = act(random.key(0), permute(memory, order), moved)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), permute(after, order), permuted)


def test_recorded_particles_are_those_of_the_rollout():
    """The recurrent beliefs' memory is that of an LSTM, which has a test of its own."""
    _, carry, chunk = played("pf-gpl")
    belief = carry.train.model.belief
    found, _ = once_jit(belief.recorded_hypotheses)(random.key(0), chunk)

    @once_jit
    def remembered(belief, memory):
        particles, _ = over_chunk(recall)(memory)
        return hypotheses(particles, over_chunk(belief.predict)(particles.guess))

    recorded = remembered(belief, chunk.memory)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5), found, recorded)


def test_another_key_draws_other_samples_in_an_update():
    learner, carry, chunk = played("vae-gpl")

    @once_jit
    def value_loss(key):
        return learner.update(key, carry.train, (), chunk, jnp.ones(()))[2]["value_loss"]

    assert value_loss(random.key(0)) == value_loss(random.key(0))
    assert value_loss(random.key(0)) != value_loss(random.key(1))


def test_a_time_limit_that_is_only_a_limit_looks_at_the_true_successor():
    """The two ways to find successors agree where episodes end for good."""
    learner, carry, chunk = played("ae-gpl")
    model, target = carry.train.model, carry.train.target

    @once_jit
    def value_loss(spec):
        model_of_it = BeliefModel(model.belief, model.value, spec)
        return learner.loss(random.key(0), model_of_it, target, chunk, jnp.ones(()))[1]["value_loss"]

    either = (dataclasses.replace(model.spec, time_limit_terminates=terminates) for terminates in (True, False))
    np.testing.assert_allclose(*map(value_loss, either), rtol=1e-5)


def test_an_explanation_says_why(collected):
    learner, carry, chunk = collected
    view, memory = in_the_middle(chunk)
    decision = decide(learner.frozen(carry.train.model), memory, view)
    why = decision.explanation
    assert decision.action == np.argmax(why.action_values)
    assert decision.action == np.argmax(why.probabilities)
    np.testing.assert_allclose(why.belief.weight.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(why.predicted.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(why.predicted, np.tensordot(why.belief.weight, why.belief.actions, 1), rtol=1e-5)
    assert why.belief.agents.shape[1:] == view.obs.agents.shape
    assert why.types.shape == (2, learner.belief.representation_size)
    np.testing.assert_allclose(why.pairwise, why.pairwise.transpose(1, 0, 3, 2), rtol=1e-5)
    if name_of(learner) == "ae-gpl":  # one hypothesis: values follow from the parts
        exists, p = why.belief.exists[0, 1], why.predicted[1]
        by_hand = why.singular[0] + exists * (why.singular[1] @ p + why.pairwise[0, 1] @ p)
        np.testing.assert_allclose(why.action_values, by_hand, rtol=1e-4, atol=1e-6)


def name_of(learner):
    return next(name for name, belief in BELIEFS.items() if belief == learner.belief)
