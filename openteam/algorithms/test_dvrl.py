"""Deep Variational RL: an update repeats the rollout, and draws its random numbers from its key."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.dvrl import DVRL, next_values, recorded_steps, repeat_filter, with_past
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.types import Observation, Spec, View
from openteam.errors import UserError
from openteam.probes import PROBES
from openteam.rollout.acting import collect, start_actor

SPEC = PROBES["teammate_joins"]().spec
LEARNER = DVRL(
    envs=4, update_every=6, particles=3, observation_width=6, action_size=2, latent=3, hidden=16, max_agents=4
)  # fmt: skip


@pytest.fixture(scope="module")
def rollout():
    """A state, a chunk that begins and ends in the middle of episodes, and the filter's steps in it, repeated."""
    task = PROBES["teammate_joins"]()

    @eqx.filter_jit
    def play(k_init, k_start, k_first, k_steps):
        state = LEARNER.init(k_init, task.spec)
        policy = LEARNER.policy(state.model, jnp.zeros(()))
        actor = start_actor(task, policy, k_start, LEARNER.envs)
        actor, _ = collect(task, policy, actor, k_first, 5)
        _, chunk = collect(task, policy, actor, k_steps, LEARNER.update_every)
        return state, chunk, repeat_filter(state.model, recorded_steps(state.model, chunk))[0]

    state, chunk, recorded = play(*(random.key(n) for n in range(4)))
    return dataclasses.replace(state, model=jax.device_get(state.model)), chunk, recorded


def test_recorded_steps_equal_the_rollout(rollout):
    _, chunk, recorded = rollout
    assert chunk.sequence.view.starts[1:-1].any()
    assert not chunk.sequence.view.starts[0].any()
    jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, atol=1e-5), recorded, chunk.memory.team.filter)


@pytest.fixture(scope="module")
def update(rollout):
    state, _, _ = rollout
    compiled = jax.jit(lambda key, chunk: LEARNER.update(key, state, (), chunk, jnp.zeros(())))
    return lambda chunk, seed=0: jax.device_get(compiled(random.key(seed), chunk))


def test_an_update_counts_itself_changes_everything_and_never_reads_the_truth(rollout, update):
    state, chunk, _ = rollout
    after, _, metrics = update(chunk)
    untrue = eqx.tree_at(lambda c: c.truth, chunk, jax.tree.map(np.zeros_like, jax.device_get(chunk.truth)))
    assert eqx.tree_equal(after, update(untrue)[0])
    assert after.updates == 1
    assert {"policy_loss", "value_loss", "entropy", "belief_loss", "effective_particles", "gradient_norm"} == set(
        metrics
    )
    assert 1 <= metrics["effective_particles"] <= LEARNER.particles
    moved = [
        bool((new != old).any()) for new, old in zip(*map(jax.tree.leaves, (after.model, state.model)), strict=True)
    ]
    assert all(moved)


def test_the_noise_of_an_update_is_the_keys(rollout, update):
    _, chunk, _ = rollout
    assert eqx.tree_equal(update(chunk)[0], update(chunk)[0])
    assert not eqx.tree_equal(update(chunk)[0].model, update(chunk, seed=1)[0].model)


def test_if_time_limits_are_terminal_only_the_last_value_is_computed(rollout):
    state, chunk, _ = rollout
    models = (dataclasses.replace(state.model, time_limit_terminates=flag) for flag in (True, False))
    last, every = (eqx.filter_jit(next_values)(random.key(0), model, chunk) for model in models)
    np.testing.assert_allclose(last[-1], every[-1], rtol=1e-5, atol=1e-6)
    assert not last[:-1].any()
    assert every[:-1].all()


def test_the_start_of_an_episode_forgets_the_belief_and_a_decision_comes_with_value_and_probabilities(rollout):
    state, _, _ = rollout
    policy, decide = LEARNER.frozen(state.model), eqx.filter_jit(LEARNER.frozen(state.model).decide)
    rng, visible = np.random.default_rng(0), jnp.array([True, False, True])
    rows = jnp.where(visible[:, None], jnp.float32(rng.normal(size=(3, 3))), 0)
    obs = Observation(rows, jnp.ones(2), visible, jnp.ones(2, bool))
    opening = View(obs, jnp.ones((), bool), visible, jnp.asarray(-1))
    later = View(obs, jnp.zeros((), bool), jnp.zeros(3, bool), jnp.asarray(1))
    memory = decide(random.key(0), policy.start(3), opening).memory
    grown = decide(random.key(2), memory, later).memory
    assert (memory.team.filter.hidden != grown.team.filter.hidden).any()
    grown = eqx.tree_at(lambda m: m.team.order, grown, memory.team.order)
    first, again = (decide(random.key(3), past, opening) for past in (memory, grown))
    assert eqx.tree_equal(first, again)
    assert first.explanation.probabilities.sum() == pytest.approx(1, abs=1e-6)
    assert first.explanation.value.shape == ()


def test_steps_of_an_earlier_chunk_have_gradients_too_and_are_kept_for_the_next(rollout):
    """What was seen in the first half of a chunk teaches an update of the second, if gradients lead back that far."""
    state, chunk, _ = rollout
    half = LEARNER.update_every // 2
    steps = jax.device_get(once_jit(recorded_steps)(state.model, chunk))
    steps = eqx.tree_at(lambda s: s.starts, steps, np.zeros_like(steps.starts))  # all of one episode
    first, last = (jax.tree.map(lambda leaf, part=part: leaf[part], steps) for part in (slice(half), slice(half, None)))
    long = dataclasses.replace(LEARNER, update_every=half, gradient_steps=2 * half)
    blank = jax.tree.map(lambda leaf: np.stack([leaf] * LEARNER.envs), long.context(state, 3))
    assert jax.tree.structure(blank) == jax.tree.structure(steps)
    past = jax.tree.map(lambda leaf: np.swapaxes(leaf, 0, 1), first)
    jax.tree.map(np.testing.assert_array_equal, once_jit(with_past)(past, last), steps)

    @eqx.filter_jit
    def sensitivity(past):
        def hidden(seen):
            changed = eqx.tree_at(lambda p: p.seen, past, seen)
            return (repeat_filter(state.model, with_past(changed, last))[0].hidden[-half:] ** 2).sum()

        return jax.grad(hidden)(past.seen)

    assert sensitivity(past)[:, -1].any()
    assert not sensitivity(blank)[:, :-1].any()  # in it every step is the start of an episode


def test_the_order_of_particles_does_not_matter_to_an_encoder_without_order(rollout):
    state, _, recorded = rollout
    order, believe = np.array([2, 0, 1]), once_jit(lambda model, particles, latent: model.belief(particles, latent))
    one = jax.tree.map(lambda leaf: leaf[0, 0], jax.device_get(recorded))
    latent = np.float32(np.random.default_rng(5).normal(size=one.hidden.shape))
    free = once_jit(dataclasses.replace(LEARNER, order_free=True).init)(random.key(0), SPEC).model
    for model, same in ((free, True), (state.model, False)):
        moved = believe(model, jax.tree.map(lambda leaf: leaf[order], one), latent[order])
        assert np.allclose(believe(model, one, latent), moved, atol=1e-5) == same


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DVRL(particles=0), "DVRL's particles must be positive"),
        (lambda: DVRL(discount=1.5), "discount must lie between 0.0 and 1.0"),
        (lambda: DVRL(gradient_steps=4), "gradient_steps must be at least update_every = 5; got 4"),
        (lambda: DVRL(max_agents=0), "DVRL's max_agents must be positive; got 0"),
        (lambda: DVRL().init(random.key(0), Spec(1, 1, 2)), "set max_agents"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()
