"""QL on a flat vector: what it learns towards, and what its memory is of."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.flat_ql import FlatQL
from openteam.algorithms.test_gpl import learn_once, random_state
from openteam.core import random
from openteam.core.learner import TrainState
from openteam.core.memory import Memory
from openteam.core.types import Chunk
from openteam.errors import UserError
from openteam.probes import Arrival, Constant, ConstantPolicies, Probe
from openteam.rollout.acting import collect, start_actor
from openteam.task import Task
from openteam.teammates import Pool

LEARNER = FlatQL(
    max_agents=4, envs=3, update_every=12, discount=0.7, mask_illegal=True, encoder_width=8, hidden=7, history_size=6,
    width=8,
)  # fmt: skip
GAME = Task(Probe(Constant(), length=5), Arrival(2), Pool((ConstantPolicies(),)), horizon=3)
"""Five steps, a teammate who joins after two, and episodes that are cut after three."""


@pytest.fixture(scope="module")
def played() -> tuple[TrainState, Chunk]:
    state = random_state(LEARNER, GAME.spec)

    @eqx.filter_jit
    def play(model: Any) -> Chunk:
        policy = LEARNER.policy(model, jnp.zeros(()))
        return collect(GAME, policy, start_actor(GAME, policy, random.key(1), 3), random.key(2), 12)[1]

    return state, play(state.model)


@eqx.filter_jit
def by_hand(state: TrainState, chunk: Chunk) -> tuple:
    """Squared errors and histories of steps taken one by one, and everybody's entries."""
    model, target = state.model, state.target

    def values_of(values: Any, hidden: Any, view: Any, entry: Any) -> tuple:
        row = jax.vmap(model.one_row)(view.obs, entry)
        history, hidden = jax.vmap(values.history.step)(hidden, row, view.starts[:, None])
        return values(history), hidden

    def one(memories: tuple, now: tuple) -> tuple:
        (mine, other), (here, after, action, order) = memories, now
        entry = jax.vmap(model.enter)(mine, here.view)
        values, hidden = values_of(model.value, mine.team.state, here.view, entry)
        mine = Memory(eqx.tree_at(lambda t: (t.order, t.state), mine.team, (order, hidden)), entry)
        _, other = values_of(target, other, here.view, entry)
        next_values, _ = values_of(target, other, after.final_view, jax.vmap(model.enter)(mine, after.final_view))
        y = after.reward + 0.7 * after.discount * jnp.where(after.final_view.obs.legal, next_values, -jnp.inf).max(-1)
        return (mine, other), ((values[jnp.arange(3), action] - y) ** 2, hidden.hidden, entry)

    steps = chunk.timesteps, chunk.next_timesteps, chunk.actions, chunk.memory.team.order
    return jax.lax.scan(one, (chunk.before, chunk.before.team.state), steps)[1]


def test_the_loss_equals_that_of_steps_taken_one_by_one(played):
    state, chunk = played
    assert chunk.sequence.ends.any()
    errors, hidden, entry = by_hand(state, chunk)
    after, context, metrics = learn_once(LEARNER, state, chunk)
    np.testing.assert_allclose(metrics["value_loss"], errors.mean(), rtol=1e-4)
    np.testing.assert_allclose(hidden, chunk.memory.team.state.hidden, atol=1e-5)
    np.testing.assert_array_equal(entry, chunk.memory.slots)
    assert entry.max() > 1
    assert context.hidden.shape == (3, 1, 7)
    moved = jax.tree.map(lambda a, b: bool((a != b).any()), after.model.value, state.model.value)
    assert all(jax.tree.leaves(moved.values))
    assert all(jax.tree.leaves(moved.history.lstm))


def test_memory_lasts_as_long_as_the_episode_whoever_comes(played):
    _, chunk = played
    state, starts = chunk.memory.team.state, chunk.timesteps.view.starts
    forgets = np.asarray(starts)[1:]
    comes = np.asarray(chunk.timesteps.view.new[..., 1])[1:] & ~forgets
    assert comes.any()
    kept = np.asarray(state.cell)[:-1, :, 0] * np.asarray(state.gates)[1:, :, 0, 7:14]  # what the forget gate lets by
    gained = np.asarray(state.gates)[1:, :, 0, :7] * np.asarray(state.gates)[1:, :, 0, 14:21]
    cell = np.asarray(state.cell)[1:, :, 0]
    np.testing.assert_allclose(cell[comes], (kept + gained)[comes], atol=1e-5)
    np.testing.assert_allclose(cell[forgets], gained[forgets], atol=1e-5)


def test_a_team_that_is_too_large_is_refused(played):
    with pytest.raises(UserError, match="at most 4 agents and the team has room for 5"):
        LEARNER.frozen(played[0].model).start(5)
