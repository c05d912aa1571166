"""Independent PPO: advantages by hand and absent agents that weigh nothing."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from openteam.algorithms.cloning import Cloning, cross_entropy
from openteam.algorithms.ippo import IPPO
from openteam.algorithms.rules import Schedule
from openteam.core import random
from openteam.core.types import Chunk, Observation, Spec, TimeStep, Truth
from openteam.errors import UserError
from openteam.probes import PROBES

SPEC = Spec(agent_features=2, shared_features=0, actions=3)
LEARNER = IPPO(envs=4, update_every=5, epochs=2, minibatches=2, width=8, discount=0.9, trace=0.8)
TIME, ROWS, SLOTS = 5, 8, 2


def draw_chunk(seed=0):
    """A chunk of random numbers, in which some agents are absent, some leave and some episodes end."""
    rng = np.random.default_rng(seed)

    def floats(*shape):
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    def flags(probability, *shape):
        return jnp.asarray(rng.random(shape) < probability)

    def obs():
        rows = (TIME + 1, ROWS)
        return Observation(floats(*rows, SLOTS, 2), floats(*rows, 0), flags(0.7, *rows, SLOTS), flags(2, *rows, 3))

    steps = (TIME + 1, ROWS)
    timesteps = TimeStep(
        obs=obs(), reward=floats(*steps), discount=flags(0.8, *steps).astype(jnp.float32), starts=flags(0, *steps),
        ends=flags(0.2, *steps), joined=flags(0, *steps, SLOTS), final_obs=obs(),
    )  # fmt: skip
    acted = (TIME, ROWS)
    actions = jnp.asarray(rng.integers(0, 3, (*acted, SLOTS)), jnp.int32)
    truth = Truth(
        actions, flags(0.6, *acted, SLOTS), jnp.zeros((*acted, SLOTS), jnp.int32), floats(*acted, SLOTS),
        floats(*acted, SLOTS, 2), floats(*acted, 0),
    )  # fmt: skip
    return Chunk(timesteps, actions[..., 0], truth, (), ())


@pytest.fixture(scope="module")
def state():
    return jax.jit(LEARNER.init, static_argnums=1)(random.key(0), SPEC)


@pytest.fixture(scope="module")
def batch(state):
    return jax.jit(LEARNER.batch)(state.model, draw_chunk())


def test_targets_follow_the_recursion_written_out_in_python(state, batch):
    chunk = draw_chunk()
    critic = jax.jit(jax.vmap(jax.vmap(lambda obs: state.model.critic(obs)[0])))
    value, final = np.asarray(critic(chunk.timesteps.obs)), np.asarray(critic(chunk.timesteps.final_obs))
    led = chunk.timesteps
    reward, discount, ends = (np.asarray(leaf) for leaf in (led.reward, led.discount, led.ends))
    target = np.zeros((TIME, ROWS))
    for row in range(ROWS):
        following = 0.0
        for t in reversed(range(TIME)):
            error = reward[t + 1, row] + 0.9 * discount[t + 1, row] * final[t + 1, row] - value[t, row]
            following = error + (0 if ends[t + 1, row] else 0.9 * 0.8 * discount[t + 1, row] * following)
            target[t, row] = value[t, row] + following
    np.testing.assert_allclose(batch.value_target.reshape(TIME, ROWS), target, atol=1e-4)


def test_advantages_are_normalised_over_those_who_were_there(batch):
    there = np.asarray(batch.weight) > 0
    assert 0 < there.sum() < len(there)
    assert np.asarray(batch.advantage)[there].mean() == pytest.approx(0, abs=1e-5)
    assert np.asarray(batch.advantage)[there].std() == pytest.approx(1, abs=1e-4)


@pytest.fixture(scope="module")
def updated(state):
    update = jax.jit(LEARNER.update)
    return lambda chunk: update(state, (), chunk, jnp.asarray(0.3))


def test_absent_agents_weigh_nothing(updated):
    chunk, noise = draw_chunk(), draw_chunk(1)
    absent = ~chunk.truth.exists[..., 0]
    soon = jnp.concatenate([absent[1:], jnp.zeros((1, ROWS), bool)])
    discount = chunk.timesteps.discount.at[1:].multiply(~(absent | soon))  # as joint training tells it

    def update(actions, reward):
        parts = (actions, reward, discount)
        told = eqx.tree_at(lambda c: (c.actions, c.timesteps.reward, c.timesteps.discount), chunk, parts)
        return jax.tree.leaves(updated(told)[0].model)

    reward, other_reward = chunk.timesteps.reward, noise.timesteps.reward
    plain = update(chunk.actions, reward)
    of_absent = update(
        jnp.where(absent, noise.actions, chunk.actions),
        reward.at[1:].set(jnp.where(absent, other_reward[1:], reward[1:])),
    )
    of_present = update(chunk.actions, reward.at[1:].set(jnp.where(absent, reward[1:], other_reward[1:])))
    assert all((one == two).all() for one, two in zip(plain, of_absent, strict=True))
    assert not all((one == two).all() for one, two in zip(plain, of_present, strict=True))


def test_an_update_is_the_same_every_time_and_counts_itself(updated):
    (first, _, metrics), (again, _, _) = updated(draw_chunk()), updated(draw_chunk())
    for one, two in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert first.updates == 1
    assert {"entropy", "kl", "clip_fraction", "value_loss", "policy_loss", "gradient_norm"} == set(metrics)


def test_before_the_first_step_nothing_is_clipped_and_an_undecided_policy_has_full_entropy(state, batch):
    _, metrics = jax.jit(LEARNER.loss)(state.model, batch, jnp.zeros(()))
    assert metrics["clip_fraction"] == 0
    assert metrics["kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["entropy"] == pytest.approx(np.log(3), abs=1e-2)


def test_a_ratio_beyond_the_clip_no_longer_pulls_at_the_policy(state, batch):
    plain = dataclasses.replace(LEARNER, entropy=Schedule(0.0, 0.0), value_weight=0.0)

    @eqx.filter_jit
    def pull(log_ratio, advantage):
        moved = (batch.log_probability - log_ratio, jnp.full_like(batch.advantage, advantage))
        moved = eqx.tree_at(lambda b: (b.log_probability, b.advantage), batch, moved)
        return optax.tree.norm(jax.grad(plain.loss, has_aux=True)(state.model, moved, jnp.zeros(()))[0])

    for log_ratio, advantage, pulls in ((0.5, 1.0, False), (-0.5, -1.0, False), (0.5, -1.0, True), (-0.5, 1.0, True)):
        assert (pull(jnp.asarray(log_ratio), jnp.asarray(advantage)) > 0) == pulls


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"minibatches": 7}, "minibatches must divide envs times update_every = 2048; got 7"),
        ({"epochs": 0}, "epochs must be positive"),
        ({"trace": 1.5}, "discount and trace"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        IPPO(**wrong)


def test_a_clone_learns_only_from_those_who_were_there(state):
    chunk, loss = draw_chunk(), jax.jit(cross_entropy)
    absent = ~chunk.truth.exists[..., 0]

    def others(rows):
        return eqx.tree_at(lambda c: c.actions, chunk, jnp.where(rows, (chunk.actions + 1) % 3, chunk.actions))

    assert loss(state.model.actor, chunk) == loss(state.model.actor, others(absent))
    assert loss(state.model.actor, chunk) != loss(state.model.actor, others(~absent))


def test_only_types_that_are_there_can_be_cloned():
    (family,) = PROBES["constant"]().pool.families
    with pytest.raises(UserError, match=r"no type 'never' to clone. There are: always-0, always-1"):
        Cloning(teacher=family, type="never")
