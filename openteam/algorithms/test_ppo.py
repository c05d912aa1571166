"""PPO of a single agent: an update looks at what the rollout looked at."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.ppo import PPO
from openteam.core import random
from openteam.core.chunks import led_to, over_chunk
from openteam.core.types import Spec
from openteam.errors import UserError
from openteam.probes import PROBES
from openteam.rollout.acting import collect, start_actor

LEARNER = PPO(envs=4, update_every=12, epochs=1, minibatches=4, width=8, places=4)


@pytest.fixture(scope="module")
def rollout():
    """A state, a chunk of several episodes in each of which somebody joins, what networks see, and the batch of it."""
    task = PROBES["company"]()

    @eqx.filter_jit
    def play(k_init, k_start, k_steps):
        state = LEARNER.init(k_init, task.spec)
        policy = LEARNER.policy(state.model, jnp.zeros(()))
        _, chunk = collect(
            task, policy, start_actor(task, policy, k_start, LEARNER.envs), k_steps, LEARNER.update_every
        )
        seen, successor = LEARNER.seen(state.model, chunk)
        steps = jax.tree.map(lambda leaf: leaf[1:-1], chunk.timesteps)
        placed = jax.tree.map(lambda leaf: leaf[:-1], chunk.memory)
        again = over_chunk(model_step(state.model))(placed, steps.obs, steps.fresh)
        return state, chunk, seen, successor, LEARNER.batch(state.model, chunk), again

    def model_step(model):
        return lambda placed, obs, fresh: model.flat(obs, model.flat.step(placed, obs, fresh).place)

    return play(*(random.key(n) for n in range(3)))


def test_the_networks_see_in_an_update_what_the_policy_saw(rollout):
    _, chunk, seen, successor, _, again = rollout
    np.testing.assert_array_equal(seen[1:], again)
    goes_on = ~np.asarray(led_to(chunk).ends)[:-1]
    assert 0 < goes_on.sum() < goes_on.size
    np.testing.assert_array_equal(np.asarray(seen)[1:][goes_on], np.asarray(successor)[:-1][goes_on])


def test_an_undecided_policy_is_begun_with_and_all_places_are_used(rollout):
    _, chunk, seen, _, batch, _ = rollout
    np.testing.assert_allclose(batch.log_probability, np.log(0.5), atol=0.05)
    rows = np.asarray(seen)[..., :12].reshape(-1, 4, 3)
    taken = (rows != -1).any(-1)
    assert taken[:, 0].all()
    assert (taken[:, 1:].sum(1) == np.asarray(chunk.timesteps.obs.visible)[:-1, :, 1].ravel()).all()
    assert taken[:, 1:].any(0).all()


def test_advantages_are_normalised_in_every_minibatch(rollout):
    state, _, _, _, batch, _ = rollout
    loss = jax.jit(lambda b: LEARNER.loss(state.model, b, jnp.zeros(()))[1]["policy_loss"])
    some = jax.tree.map(lambda leaf: leaf[:12], batch)
    moved = some.log_probability + jnp.linspace(-0.1, 0.1, 12)
    some = eqx.tree_at(lambda b: (b.log_probability, b.advantage), some, (moved, jnp.arange(12.0) ** 2))
    other = eqx.tree_at(lambda b: b.advantage, some, 7 * some.advantage + 3)
    assert float(loss(some)) > 0.01
    assert float(loss(some)) == pytest.approx(float(loss(other)), abs=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PPO(places=0), "PPO's places must be at least 1"),
        (lambda: dataclasses.replace(LEARNER, minibatches=5), "PPO's minibatches must divide envs times update_every"),
        (lambda: PPO(normalise="batch"), "PPO's normalise is 'update' or 'minibatch'; got 'batch'"),
        (lambda: jax.eval_shape(lambda: PPO().init(random.key(0), Spec(1, 1, 2))), "set places"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()
