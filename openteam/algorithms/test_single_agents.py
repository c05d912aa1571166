"""PPO and DVRL on probes that need no memory: their values are the known ones, and so are their actions.

Compiling costs more than running here. So all probes are learned side by side in one program.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.control import Schedule
from openteam.algorithms.dvrl import DVRL
from openteam.algorithms.ppo import PPO
from openteam.algorithms.test_probes import one_probe
from openteam.core import random
from openteam.models.actor_critic import FlatNetworks
from openteam.probes import PROBES
from openteam.training.loop import advance, start_carry

NAMES, STEPS = ("lamp", "delayed", "own_action", "teammate_joins"), 16
LEARNERS = {
    "ppo": PPO(
        network=FlatNetworks(max_agents=3, width=16), envs=8, update_every=16, epochs=4, minibatches=4,
        learning_rate=Schedule(1e-2, 1e-3, 1.0), discount=0.6, temperature=0.0,
    ),
    "dvrl": DVRL(
        envs=8, update_every=6, learning_rate=3e-3, discount=0.6, particles=3, observation_width=16, action_size=4,
        latent=8, hidden=16, max_agents=3, temperature=0.0,
    ),
}  # fmt: skip
UPDATES = {"ppo": 100, "dvrl": 300}


@pytest.mark.parametrize("name", LEARNERS)
def test_values_and_actions_are_the_best_ones(name):
    learner, count = LEARNERS[name], jnp.asarray(UPDATES[name])

    def learn_and_play(probe, k_start, k_train, k_reset, k_steps):
        task = one_probe(probe)
        carry, _ = advance(task, learner, start_carry(task, learner, k_start), jax.random.split(k_train), count, count)
        policy = learner.frozen(carry.train.model)

        def step(now, key):
            env, timestep, memory = now
            k_act, k_step = jax.random.split(key)
            decision = policy.decide(k_act, memory, timestep.view)
            best = task.world.payoff.values(env.world, learner.discount)
            env, timestep, _ = task.step(k_step, env, decision.action)
            return (env, timestep, decision.memory), (decision.explanation.value, best.max(), best[decision.action])

        begin = (*task.reset(k_reset), policy.start(task.slots))
        return jax.lax.scan(step, begin, jax.random.split(k_steps, STEPS))[1]

    numbers = jnp.array([list(PROBES).index(probe) for probe in NAMES])
    with jax.debug_key_reuse(False):  # the check takes it for a use when vmap transposes keys
        keys = jnp.stack([jax.random.split(random.key(n), len(NAMES)) for n in range(4)])
        played = jax.jit(jax.vmap(learn_and_play))(numbers, *keys)
    for probe, value, best, chosen in zip(NAMES, *map(np.asarray, played), strict=True):
        np.testing.assert_array_equal(chosen, best, probe)
        np.testing.assert_allclose(value, best, atol=0.25, err_msg=probe)
