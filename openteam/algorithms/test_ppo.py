"""PPO: lambda-returns by hand, absent agents that do not count, clipping, and minibatches in an order of the key."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from openteam.algorithms.control import Schedule
from openteam.algorithms.ppo import PPO
from openteam.algorithms.presets import ippo
from openteam.core import random
from openteam.core.types import NO_ACTION, Chunk, Observation, Spec, TimeStep, Truth, View
from openteam.errors import UserError
from openteam.models.actor_critic import FlatNetworks, SetNetworks

SPEC = Spec(agent_features=2, shared_features=0, actions=3)
LEARNER = dataclasses.replace(
    ippo(), network=SetNetworks(width=8), envs=4, update_every=5, epochs=2, minibatches=2, discount=0.9, trace=0.8
)
TIME, ROWS, SLOTS = 5, 8, 2


def draw_chunk(seed=0):
    """A chunk of random numbers, in which some agents are absent, some leave and some episodes end."""
    rng = np.random.default_rng(seed)
    steps, acted = (TIME + 1, ROWS), (TIME, ROWS)

    def floats(*shape):
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    def flags(probability, *shape):
        return jnp.asarray(rng.random(shape) < probability)

    def view():
        seen = Observation(floats(*steps, SLOTS, 2), floats(*steps, 0), flags(0.7, *steps, SLOTS), flags(2, *steps, 3))
        return View(seen, flags(0, *steps), flags(0, *steps, SLOTS), jnp.full(steps, NO_ACTION, jnp.int32))

    discount = flags(0.8, *steps).astype(jnp.float32)
    sequence = TimeStep(view(), floats(*steps), discount, flags(0.2, *steps), view())
    actions = jnp.asarray(rng.integers(0, 3, (*acted, SLOTS)), jnp.int32)
    truth = Truth(
        actions, flags(0.6, *acted, SLOTS), jnp.zeros((*acted, SLOTS), jnp.int32), floats(*acted, SLOTS),
        floats(*acted, SLOTS, 2), floats(*acted, 0),
    )  # fmt: skip
    return Chunk(sequence, actions[..., 0], truth, (), ())


@pytest.fixture(scope="module")
def state():
    return jax.jit(LEARNER.init, static_argnums=1)(random.key(0), SPEC)


@pytest.fixture(scope="module")
def batch(state):
    return jax.jit(LEARNER.batch)(state.model, draw_chunk())


def test_value_targets_are_lambda_returns_written_out_in_python(state, batch):
    chunk = draw_chunk()
    critic = jax.jit(jax.vmap(jax.vmap(lambda obs: state.model.critic(obs)[0])))
    value = np.asarray(critic(chunk.timesteps.view.obs))
    after = chunk.next_timesteps
    final = np.asarray(critic(after.final_view.obs))
    reward, discount, ends = (np.asarray(leaf) for leaf in (after.reward, after.discount, after.ends))
    target = np.zeros((TIME, ROWS))
    for row in range(ROWS):
        following = 0.0
        for t in reversed(range(TIME)):
            error = reward[t, row] + 0.9 * discount[t, row] * final[t, row] - value[t, row]
            following = error + (0 if ends[t, row] else 0.9 * 0.8 * discount[t, row] * following)
            target[t, row] = value[t, row] + following
    np.testing.assert_allclose(batch.value_target.reshape(TIME, ROWS), target, atol=1e-4)


def test_advantages_are_normalised_over_those_who_were_there(batch):
    there = np.asarray(batch.present)
    assert 0 < there.sum() < len(there)
    assert np.asarray(batch.advantage)[there].mean() == pytest.approx(0, abs=1e-5)
    assert np.asarray(batch.advantage)[there].std() == pytest.approx(1, abs=1e-4)


def test_advantages_can_be_normalised_in_every_minibatch_instead(state, batch):
    learner = dataclasses.replace(LEARNER, normalise_minibatches=True)
    loss = jax.jit(lambda b: learner.loss(state.model, b, jnp.zeros(()))[1]["policy_loss"])
    some = jax.tree.map(lambda leaf: leaf[:12], batch)
    moved = some.log_probability + jnp.linspace(-0.1, 0.1, 12)
    some = eqx.tree_at(lambda b: (b.log_probability, b.advantage), some, (moved, jnp.arange(12.0) ** 2))
    other = eqx.tree_at(lambda b: b.advantage, some, 7 * some.advantage + 3)
    assert abs(float(loss(some))) > 0.01
    assert float(loss(some)) == pytest.approx(float(loss(other)), abs=1e-5)


@pytest.fixture(scope="module")
def updated(state):
    update = jax.jit(LEARNER.update)
    return lambda chunk, seed=0: update(random.key(seed), state, (), chunk, jnp.asarray(0.3))


def test_absent_agents_do_not_count(updated):
    chunk, noise = draw_chunk(), draw_chunk(1)
    absent = ~chunk.truth.exists[..., 0]
    soon = jnp.concatenate([absent[1:], jnp.zeros((1, ROWS), bool)])
    discount = chunk.sequence.discount.at[1:].multiply(~(absent | soon))  # as in joint training

    def update(actions, reward):
        parts = (actions, reward, discount)
        changed = eqx.tree_at(lambda c: (c.actions, c.sequence.reward, c.sequence.discount), chunk, parts)
        return jax.tree.leaves(updated(changed)[0].model)

    reward, other_reward = chunk.sequence.reward, noise.sequence.reward
    plain = update(chunk.actions, reward)
    of_absent = update(
        jnp.where(absent, noise.actions, chunk.actions),
        reward.at[1:].set(jnp.where(absent, other_reward[1:], reward[1:])),
    )
    of_present = update(chunk.actions, reward.at[1:].set(jnp.where(absent, reward[1:], other_reward[1:])))
    assert all((one == two).all() for one, two in zip(plain, of_absent, strict=True))
    assert not all((one == two).all() for one, two in zip(plain, of_present, strict=True))


def test_the_order_of_minibatches_is_the_keys(updated):
    chunk = draw_chunk()
    (first, _, metrics), (again, _, _), (other, _, _) = updated(chunk), updated(chunk), updated(chunk, seed=1)
    assert eqx.tree_equal(first, again)
    assert not eqx.tree_equal(first.model, other.model)
    close = zip(*map(jax.tree.leaves, (first.model, other.model)), strict=True)
    assert all(np.allclose(one, two, atol=0.02) for one, two in close)
    assert first.updates == 1
    assert {"entropy", "kl", "clip_fraction", "value_loss", "policy_loss", "gradient_norm"} == set(metrics)


def test_before_the_first_step_nothing_is_clipped_and_entropy_is_full(state, batch):
    _, metrics = jax.jit(LEARNER.loss)(state.model, batch, jnp.zeros(()))
    assert metrics["clip_fraction"] == 0
    assert metrics["kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["entropy"] == pytest.approx(np.log(3), abs=1e-2)


def test_a_ratio_beyond_the_clip_has_no_gradient(state, batch):
    plain = dataclasses.replace(LEARNER, entropy=Schedule(0.0, 0.0), value_weight=0.0)

    @eqx.filter_jit
    def gradient_norm(log_ratio, advantage):
        moved = (batch.log_probability - log_ratio, jnp.full_like(batch.advantage, advantage))
        moved = eqx.tree_at(lambda b: (b.log_probability, b.advantage), batch, moved)
        return optax.tree.norm(jax.grad(plain.loss, has_aux=True)(state.model, moved, jnp.zeros(()))[0])

    for log_ratio, advantage, counts in ((0.5, 1.0, False), (-0.5, -1.0, False), (0.5, -1.0, True), (-0.5, 1.0, True)):
        assert (gradient_norm(jnp.asarray(log_ratio), jnp.asarray(advantage)) > 0) == counts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PPO(minibatches=7), "PPO's minibatches must divide envs times update_every = 32768; got 7"),
        (lambda: PPO(epochs=0), "PPO's epochs must be positive"),
        (lambda: PPO(trace=1.5), "PPO's trace must lie between 0.0 and 1.0; got 1.5"),
        (lambda: SetNetworks(width=0), "SetNetworks's width must be positive"),
        (lambda: FlatNetworks(max_agents=0), "FlatNetworks's max_agents must be positive; got 0"),
        (lambda: PPO().init(random.key(0), SPEC), "set max_agents"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()
