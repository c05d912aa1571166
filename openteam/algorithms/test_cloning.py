"""Behaviour cloning: whom it learns from."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from openteam.algorithms.cloning import Cloning, cross_entropy
from openteam.algorithms.control import Schedule
from openteam.algorithms.test_ppo import SPEC, draw_chunk
from openteam.core import random
from openteam.errors import UserError
from openteam.models.policy import PolicyNetwork
from openteam.probes import PROBES


def test_a_clone_learns_only_from_those_who_were_there():
    chunk, loss = draw_chunk(), jax.jit(cross_entropy)
    network = jax.jit(lambda key: PolicyNetwork(key, SPEC, SPEC.actions, width=8))(random.key(0))
    absent = ~chunk.truth.exists[..., 0]

    def others(rows):
        return eqx.tree_at(lambda c: c.actions, chunk, jnp.where(rows, (chunk.actions + 1) % 3, chunk.actions))

    assert loss(network, chunk) == loss(network, others(absent))
    assert loss(network, chunk) != loss(network, others(~absent))


def test_a_clone_comes_to_do_what_its_teacher_did():
    (family,) = PROBES["constant"]().pool.families
    quick = Schedule(2e-2, 2e-2)
    learner, chunk = Cloning(teacher=family, type="always-1", width=8, learning_rate=quick), draw_chunk()
    chunk = eqx.tree_at(lambda c: c.actions, chunk, jnp.ones_like(chunk.actions))

    @jax.jit
    def learn(k_init, k_update):
        state = learner.init(k_init, SPEC)
        step = lambda state, key: learner.update(key, state, (), chunk, jnp.zeros(()))[::2]  # noqa: E731
        return jax.lax.scan(step, state, jax.random.split(k_update, 50))[1]["cross_entropy"]

    losses = learn(random.key(0), random.key(1))
    assert losses[-1] < 0.5 * losses[0]


def test_only_types_that_are_there_can_be_cloned():
    (family,) = PROBES["constant"]().pool.families
    with pytest.raises(UserError, match=r"no type 'never' to clone. There are: always-0, always-1"):
        Cloning(teacher=family, type="never")
