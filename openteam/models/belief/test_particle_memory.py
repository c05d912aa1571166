"""Particles step after step: as recorded, without noise, and in other slots."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.core.memory import permute
from openteam.core.types import Chunk, TimeStep, Truth
from openteam.models.belief.hypotheses import preprocess
from openteam.models.belief.particles import recall, remember, swap_axes
from openteam.models.belief.resampling import log_mean_exp
from openteam.models.belief.test_particles import NO, YES, advance, blank, make, view


def chunk_of(views, before, memory):
    """A chunk of one environment. Of time steps only the views count."""
    steps = len(views.starts)
    views = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf[:1]])[:, None], views)
    zeros, nothing = jnp.zeros((steps + 1, 1)), jnp.zeros((steps, 1, 2), jnp.int32)
    truth = Truth(
        nothing, jnp.ones((steps, 1, 2), bool), nothing, jnp.zeros((steps, 1, 2)), jnp.ones((steps, 1, 2, 3)),
        jnp.ones((steps, 1, 2)),
    )  # fmt: skip
    before, memory = jax.tree.map(lambda leaf: leaf[None], before), jax.tree.map(lambda leaf: leaf[:, None], memory)
    timesteps = TimeStep(views, zeros, zeros, zeros > 0, views)
    return Chunk(timesteps, jnp.zeros((steps, 1), jnp.int32), truth, before, memory)


@pytest.mark.parametrize("new", [False, True])
def test_recorded_hypotheses_are_those_of_one_step_after_the_other(new):
    """With the same gradient, unless a teammate is new in the middle of an episode: there it is an approximation."""
    belief, steps = make(particles=3), 4
    given = ((NO, (False, False)), (NO, (False, False)), (YES, (True, True)), (NO, (False, new)))
    views = [view(n, (True, n != 1), n - 1, *fresh) for n, fresh in enumerate(given)]
    views = jax.tree.map(lambda *leaves: jnp.stack(leaves), *views)
    noise = jax.vmap(lambda key: belief.draw(key, 2))(jax.random.split(random.key(1), steps))
    first = belief.draw(random.key(2), 2)
    before = advance(belief, blank(belief), first, view(9, (True, True), -1, YES))

    def plain(belief):
        def step(particles, now):
            after = belief.advance(particles, *now)
            return after, after

        return jax.lax.scan(step, before, (noise, views))[1]

    def of_plain(belief):
        particles = plain(belief)
        return -jax.vmap(log_mean_exp)(particles.log_weight).mean() + (particles.guess.state**2).mean()

    def of_recorded(belief):
        memory = jax.vmap(remember)(jax.lax.stop_gradient(plain(belief)), noise)
        chunk = chunk_of(views, remember(before, first), memory)
        recorded, losses = belief.recorded_hypotheses(random.key(0), chunk)
        return losses["belief_loss"] + (recorded.representation[..., :3] ** 2).mean()

    compared = (lambda loss: loss) if new else jax.value_and_grad
    expected, found = (once_jit(compared(loss))(belief) for loss in (of_plain, of_recorded))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5), expected, found)


def test_one_particle_without_noise_is_a_plain_recurrent_network():
    belief = make(particles=1)
    still = jax.tree.map(jnp.zeros_like, belief.draw(random.key(0), 2))
    particles, state, types = blank(belief), jnp.zeros((2, 3)), belief.proposals.types.start(2)
    exists = jnp.zeros(2)
    for number in range(3):
        now = view(number, (True, True), number - 1, jnp.asarray(number == 0))
        particles = advance(belief, particles, still, now)
        encoded = belief.proposals.encode(preprocess(now))
        known = jnp.concatenate([state, types.hidden, encoded], -1)
        action = jax.nn.one_hot(jnp.argmax(belief.proposals.action(known, exists), -1), 4) * exists[:, None]
        action = action.at[0].set(jax.nn.one_hot(number - 1, 4))
        _, state, _ = belief.proposals.state(jnp.concatenate([state, action, exists[:, None]], -1), encoded)
        types = belief.proposals.types.step(types, jnp.concatenate([state, action], -1), NO[None].repeat(2))
        exists = jnp.ones(2)
        np.testing.assert_allclose(particles.guess.state[0], state, rtol=1e-5)
        np.testing.assert_allclose(particles.guess.type[0], types.hidden, rtol=1e-5)


def test_permuting_slots_permutes_memory():
    """With the noise permuted too, and everybody visible: the existence of others is inferred in slot order."""
    belief, order = make(particles=3), jnp.array([0, 2, 3, 1])
    step = once_jit(lambda memory, noise, view: remember(belief.advance(recall(memory)[0], noise, view), noise))
    memory, everybody = belief.start(4), (True,) * 4
    permuted = memory
    for number in range(2):
        noise = belief.draw(random.key(number), 4)
        now = view(number, everybody, number - 1, jnp.asarray(number == 0))
        rows = eqx.tree_at(lambda v: v.obs.agents, now, now.obs.agents[order])
        moved = eqx.tree_at(
            lambda n: n.guess, noise, swap_axes(jax.tree.map(lambda x: x[order], swap_axes(noise.guess)))
        )
        memory, permuted = step(memory, noise, now), step(permuted, moved, rows)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), permute(memory, order), permuted)
