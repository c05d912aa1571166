"""The probe in which belief is everything, solved by beliefs and not by PPO, which has no memory."""

import inspect

import jax
import jax.numpy as jnp
import pytest

from openteam.algorithms.belief_gpl import BeliefGPL
from openteam.algorithms.beliefs import Autoencoder, ParticleFilter, VariationalAutoencoder
from openteam.algorithms.control import Schedule
from openteam.algorithms.ppo import PPO
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.learner import AbstractLearner
from openteam.models.actor_critic import FlatNetworks
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.particle_belief import ParticleSizes
from openteam.models.belief.recurrent import AutoencoderSizes
from openteam.models.joint_value import Factored
from openteam.probes import remember_teammate
from openteam.rollout.episodes import evaluate
from openteam.training.loop import advance, start_carry

RECURRENT = AutoencoderSizes(encoder_width=24, hidden=24, representation=12, decoder_width=24)
BELIEFS = {
    "ae-gpl": Autoencoder(RECURRENT),
    "vae-gpl": VariationalAutoencoder(samples=4, sizes=RECURRENT),
    "pf-gpl": ParticleFilter(particles=3, sizes=ParticleSizes(encoding=12, state=8, type_size=8, width=16)),
}
MEMORYLESS = PPO(
    FlatNetworks(width=24), envs=8, update_every=12, minibatches=2, epochs=4, learning_rate=Schedule(3e-3, 3e-3)
)


@jax.debug_key_reuse(False)  # its check makes every call slow
def mean_return(learner: AbstractLearner, updates: int) -> float:
    task = remember_teammate()
    k_start, *keys = jax.random.split(random.key(0), 3)
    carry = inspect.unwrap(start_carry)(task, learner, k_start)
    carry, _ = once_jit(advance)(task, learner, carry, jnp.stack(keys), jnp.asarray(updates), jnp.asarray(updates))
    return evaluate(learner.frozen(carry.train.model), task, episodes=200).mean


@pytest.mark.parametrize("belief", BELIEFS)
def test_who_holds_a_belief_waits_for_the_teammate_it_saw(belief):
    learner = BeliefGPL(
        belief=BELIEFS[belief], envs=8, update_every=6, learning_rate=5e-3, discount=0.9, target_rate=0.05,
        utility_width=24, pairwise=Factored(2), agent_model=AgentModelSizes(12, 12, 12),
    )  # fmt: skip
    assert mean_return(learner, 250) > 0.4  # the best is 1/2 in the mean


def test_who_has_no_memory_had_best_stay():
    assert mean_return(MEMORYLESS, 150) < 0.15
