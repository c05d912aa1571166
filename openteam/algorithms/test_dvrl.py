"""Deep Variational RL: an update repeats the rollout, and a decision knows nothing that cannot be seen."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.dvrl import DVRL, replay
from openteam.core import random
from openteam.core.types import Observation, Spec
from openteam.errors import UserError
from openteam.probes import PROBES
from openteam.rollout.acting import collect, start_actor

LEARNER = DVRL(
    envs=4, update_every=6, particles=3, observation_width=6, action_size=2, latent=3, hidden=5, places=4
)  # fmt: skip


@pytest.fixture(scope="module")
def rollout():
    """A state, a chunk that begins and ends in the middle of episodes, and its replay."""
    task = PROBES["company"]()

    @eqx.filter_jit
    def play(k_init, k_start, k_first, k_steps):
        state = LEARNER.init(k_init, task.spec)
        policy = LEARNER.policy(state.model, jnp.zeros(()))
        actor = start_actor(task, policy, k_start, LEARNER.envs)
        actor, _ = collect(task, policy, actor, k_first, LEARNER.update_every)
        _, chunk = collect(task, policy, actor, k_steps, LEARNER.update_every)
        return state, chunk, replay(state.model, chunk)[0]

    return play(*(random.key(n) for n in range(4)))


def test_replay_equals_rollout(rollout):
    _, chunk, replayed = rollout
    assert chunk.timesteps.starts[1:-1].any()
    assert not chunk.timesteps.starts[0].any()
    jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, atol=1e-5), replayed, chunk.memory.particles)


def test_an_update_counts_itself_tells_everything_and_never_reads_the_truth(rollout):
    state, chunk, _ = rollout
    update = jax.jit(lambda c: LEARNER.update(state, (), c, jnp.zeros(())))
    after, _, metrics = update(chunk)
    lied_to = eqx.tree_at(lambda c: c.truth, chunk, jax.tree.map(jnp.zeros_like, chunk.truth))
    jax.tree.map(np.testing.assert_array_equal, after, update(lied_to)[0])
    assert after.updates == 1
    assert {"policy_loss", "value_loss", "entropy", "belief_loss", "effective_particles", "gradient_norm"} == set(
        metrics
    )
    assert 1 <= metrics["effective_particles"] <= LEARNER.particles
    moved = [
        bool((new != old).any()) for new, old in zip(*map(jax.tree.leaves, (after.model, state.model)), strict=True)
    ]
    assert all(moved)


def test_if_time_limits_are_true_ends_only_the_last_successor_is_looked_at(rollout):
    state, chunk, _ = rollout
    models = (dataclasses.replace(state.model, time_limit_terminates=flag) for flag in (True, False))
    last, every = (eqx.filter_jit(LEARNER.next_values)(dataclasses.replace(state, model=m), chunk) for m in models)
    np.testing.assert_allclose(last[-1], every[-1], rtol=1e-5)
    assert not last[:-1].any()
    assert every[:-1].all()


def test_a_decision_depends_on_nothing_that_cannot_be_seen(rollout):
    state, _, _ = rollout
    policy, act = LEARNER.frozen(state.model), eqx.filter_jit(LEARNER.frozen(state.model).act)
    rng, visible = np.random.default_rng(0), jnp.array([True, False, True])
    rows = jnp.where(visible[:, None], jnp.float32(rng.normal(size=(3, 3))), 0)
    obs = Observation(rows, jnp.ones(2), visible, jnp.ones(2, bool))
    nobody, unseen, everybody = jnp.zeros(3, bool), jnp.array([False, True, False]), jnp.ones(3, bool)
    _, memory = act(random.key(0), policy.start(3), obs, everybody)
    jax.tree.map(
        np.testing.assert_array_equal, act(random.key(1), memory, obs, nobody), act(random.key(1), memory, obs, unseen)
    )
    _, later = act(random.key(2), memory, obs, nobody)
    later = eqx.tree_at(lambda m: m.placed, later, memory.placed)
    assert (memory.particles.hidden != later.particles.hidden).any()
    first, again = (act(random.key(3), past, obs, everybody) for past in (memory, later))
    jax.tree.map(np.testing.assert_array_equal, first, again)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DVRL(particles=0), "DVRL's particles must be positive"),
        (lambda: DVRL(discount=1.5), "discount in"),
        (lambda: DVRL(places=0), "DVRL's places must be at least 1"),
        (lambda: jax.eval_shape(lambda: DVRL().init(random.key(0), Spec(1, 1, 2))), "set places"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()
