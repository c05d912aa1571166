"""A game that every learner which is trained in all slots at once must learn."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from openteam.algorithms.control import Schedule
from openteam.algorithms.dgn import DGN
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.ppo import PPO
from openteam.algorithms.replay import ReplayBuffer
from openteam.core import random
from openteam.models.actor_critic import SetNetworks
from openteam.probes import PROBES
from openteam.training.loop import advance, start_carry

LEARNERS = {
    "dgn": DGN(
        envs=8, update_every=4, replay=ReplayBuffer(2_000, batch=32, warm_up=0), learning_rate=3e-3, discount=0.6,
        target_rate=0.05, epsilon=Schedule(1.0, 0.0, 0.2), width=16, heads=2, head_size=8,
    ),
    "maddpg": MADDPG(
        envs=8, update_every=4, replay=ReplayBuffer(4_000, batch=64, warm_up=0), learning_rate=5e-3, discount=0.6,
        target_rate=0.05, width=16,
    ),
    "ippo": PPO(
        network=SetNetworks(width=16), all_slots=True, envs=16, update_every=8, epochs=2, minibatches=2, discount=0.9,
        learning_rate=Schedule(1e-2, 1e-3, 1.0), normalise_minibatches=False, mask_illegal=True,
    ),
}  # fmt: skip
UPDATES = {"dgn": 300, "maddpg": 400, "ippo": 60}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_team_learns_what_is_right_alone_and_what_is_right_together(name):
    """Two steps alone and two together: 1 for each who is there, if slot 0 does the right thing."""
    task, learner, count = PROBES["teammate_joins"](), LEARNERS[name], jnp.asarray(UPDATES[name])

    k_start, *keys = jax.random.split(random.key(1), 3)
    carry = inspect.unwrap(start_carry)(task, learner, k_start)
    _, sums = eqx.filter_jit(advance)(task, learner, carry, jnp.stack(keys), count, count)
    # Over the whole run, exploration included.
    assert sums["return_sum"] / sums["episodes"] > 0.85 * (2 * 1 + 2 * 2)
