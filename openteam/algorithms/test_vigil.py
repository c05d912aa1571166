"""The probe in which belief is everything, solved by beliefs and not by PPO, which has no memory."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from openteam.algorithms import Schedule
from openteam.algorithms.particle_gpl import ParticleGPL
from openteam.algorithms.ppo import PPO
from openteam.algorithms.recurrent_gpl import RecurrentGPL
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.learner import AbstractLearner
from openteam.probes import vigil
from openteam.rollout.episodes import evaluate
from openteam.training.loop import advance, start_carry

VALUES: dict[str, Any] = {
    "envs": 8, "update_every": 6, "learning_rate": 5e-3, "discount": 0.9, "target_rate": 0.05, "utility_width": 24,
    "rank": 2, "message_width": 12, "embedding": 12, "readout_width": 12,
}  # fmt: skip
RECURRENT: dict[str, Any] = {"encoder_width": 24, "hidden": 24, "representation": 12, "decoder_width": 24, **VALUES}
BELIEVERS: dict[str, AbstractLearner] = {
    "ae-gpl": RecurrentGPL(**RECURRENT),
    "vae-gpl": RecurrentGPL(samples=4, learned_spread=True, **RECURRENT),
    "pf-gpl": ParticleGPL(particles=3, sight=12, state=8, type_size=8, width=16, **VALUES),
}
MEMORYLESS = PPO(envs=8, update_every=12, minibatches=2, epochs=4, learning_rate=Schedule(3e-3, 3e-3), width=24)


@jax.debug_key_reuse(False)  # its check makes every call slow
def mean_return(learner: AbstractLearner, updates: int) -> float:
    task = vigil()
    k_start, k_train = jax.random.split(random.key(0))
    carry = once_jit(start_carry)(task, learner, k_start)
    carry, _ = once_jit(advance)(task, learner, carry, k_train, jnp.asarray(updates), jnp.asarray(updates))
    return evaluate(learner.frozen(carry.train.model), task, episodes=200).mean


@pytest.mark.parametrize("name", BELIEVERS)
def test_who_holds_a_belief_waits_for_the_teammate_it_saw(name):
    assert mean_return(BELIEVERS[name], 250) > 0.4  # the best there is, 1/2 in the mean


def test_who_has_no_memory_had_best_stay():
    assert mean_return(MEMORYLESS, 150) < 0.15
