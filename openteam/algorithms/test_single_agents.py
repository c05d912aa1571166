"""PPO and DVRL on probes that need no memory: their values are the known ones, and so are their actions.

Compiling costs more than running here. So all probes are learned side by side in one program.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.dvrl import DVRL, DVRLModel
from openteam.algorithms.ppo import PPO, FlatActorCritic
from openteam.algorithms.rules import Schedule
from openteam.algorithms.test_probes import one_probe
from openteam.core import random
from openteam.probes import PROBES
from openteam.training.loop import advance, start_carry

NAMES, STEPS = ("lamp", "delayed", "own_action", "company"), 16
LEARNERS = {
    "ppo": PPO(
        envs=8, update_every=16, epochs=4, minibatches=4, learning_rate=Schedule(1e-2, 1e-3, 1.0), discount=0.6,
        width=16, places=3, temperature=0.0,
    ),
    "dvrl": DVRL(
        envs=8, update_every=6, learning_rate=3e-3, discount=0.6, particles=3, observation_width=16, action_size=4,
        latent=8, hidden=16, places=3, temperature=0.0,
    ),
}  # fmt: skip
UPDATES = {"ppo": 100, "dvrl": 300}


@functools.singledispatch
def value(model, key, memory, obs, fresh):
    """What the critic thinks."""
    raise NotImplementedError(type(model))


@value.register
def _(model: FlatActorCritic, key, memory, obs, fresh):
    del key
    return model.critic(model.flat(obs, model.flat.step(memory, obs, fresh).place))[0]


@value.register
def _(model: DVRLModel, key, memory, obs, fresh):
    return model.critic(model.look(key, memory, obs, fresh)[0])[0]


@pytest.mark.parametrize("name", LEARNERS)
def test_values_and_actions_are_the_best_ones(name):
    learner, count = LEARNERS[name], jnp.asarray(UPDATES[name])

    def learn_and_play(probe, k_start, k_train, k_reset, k_steps):
        task = one_probe(probe)
        carry, _ = advance(task, learner, start_carry(task, learner, k_start), k_train, count, count)
        model, policy = carry.train.model, learner.frozen(carry.train.model)

        def step(now, key):
            env, timestep, memory = now
            k_value, k_act, k_step = jax.random.split(key, 3)
            worth = value(model, k_value, memory, timestep.obs, timestep.fresh)
            action, memory = policy.act(k_act, memory, timestep.obs, timestep.fresh)
            best = task.world.payoff.values(env.world, learner.discount)
            env, timestep, _ = task.step(k_step, env, action)
            return (env, timestep, memory), (worth, best.max(), best[action])

        begin = (*task.reset(k_reset), policy.start(task.slots))
        return jax.lax.scan(step, begin, jax.random.split(k_steps, STEPS))[1]

    numbers = jnp.array([list(PROBES).index(probe) for probe in NAMES])
    with jax.debug_key_reuse(False):  # the check takes it for a use when vmap transposes keys
        keys = jnp.stack([jax.random.split(random.key(n), len(NAMES)) for n in range(4)])
        played = jax.jit(jax.vmap(learn_and_play))(numbers, *keys)
    for probe, worth, best, chosen in zip(NAMES, *map(np.asarray, played), strict=True):
        np.testing.assert_array_equal(chosen, best, probe)
        np.testing.assert_allclose(worth, best, atol=0.25, err_msg=probe)
