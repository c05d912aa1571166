"""What value-based learners share, on learners with fixed places and with an agent model whose word is an input."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms import GNN, GPL, QL
from openteam.algorithms.gpl import complete_penalty, star_penalty
from openteam.algorithms.value_learning import AbstractValueLearner, Model, ValueMemory, team_of
from openteam.core import random
from openteam.core.chunks import acted_on, led_to
from openteam.core.learner import TrainState
from openteam.core.types import Chunk, Spec
from openteam.errors import UserError
from openteam.models.lstm import Memory
from openteam.probes import Arrival, Constant, Probe, Stubborns
from openteam.rollout.acting import collect, start_actor
from openteam.task import Task
from openteam.tasks import lbf_released
from openteam.teammates import Pool

TINY: dict[str, Any] = {
    "envs": 3, "update_every": 12, "discount": 0.7, "learning_rate": 0.01, "encoder_width": 8, "hidden": 7,
    "type_size": 6, "utility_width": 8, "message_width": 8, "embedding": 8, "readout_width": 8, "mask_illegal": True,
    "agent_model_weight": 0.0,
}  # fmt: skip
ATTENTION: dict[str, Any] = {"heads": 2, "head_size": 3, "node_width": 6}
LEARNERS: dict[str, AbstractValueLearner] = {
    "ql-am": QL(agent_model=True, places=5, **TINY),
    "gnn-am": GNN(agent_model=True, **ATTENTION, **TINY),
    "gpl-shared": GPL(shared_types=True, rank=2, **TINY),
}


def short_game() -> Task:
    """Five steps, a teammate who joins after two, and episodes that are cut after three."""
    world, pool = Probe(Constant(), length=5), Pool((Stubborns(),))
    return Task(world, Arrival(2), pool, horizon=3, time_limit_terminates=False)


def random_state(learner: AbstractValueLearner, spec: Spec) -> TrainState:
    """Random networks that cost no compilation; the target differs from the model."""
    rng = np.random.default_rng(3)
    shapes = eqx.filter_eval_shape(learner.init, jax.random.key(0), spec)

    def draw(leaf: Any) -> jax.Array:
        return jnp.asarray(1.25 * rng.normal(size=leaf.shape) / leaf.shape[0] ** 0.5, leaf.dtype)

    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), (shapes.opt_state, shapes.updates))
    return TrainState(jax.tree.map(draw, shapes.model), jax.tree.map(draw, shapes.target), *blank)


def play(task: Task, learner: AbstractValueLearner, model: Model) -> Chunk:
    policy = learner.policy(model, jnp.zeros(()))
    actor = start_actor(task, policy, random.key(1), learner.envs)
    return collect(task, policy, actor, random.key(2), learner.update_every)[1]


def update(learner: AbstractValueLearner, state: TrainState, chunk: Chunk) -> tuple:
    context = jax.tree.map(lambda leaf: jnp.stack([leaf] * learner.envs), learner.context(state, 2))
    return learner.update(state, context, chunk, jnp.zeros(()))


learn = eqx.filter_jit(update)


class Case(eqx.Module):
    learner: AbstractValueLearner
    state: TrainState
    chunk: Chunk


@pytest.fixture(scope="module", params=LEARNERS)
def case(request) -> Case:
    task, learner = short_game(), LEARNERS[request.param]
    state = random_state(learner, task.spec)
    chunk = eqx.filter_jit(play)(task, learner, state.model)
    assert chunk.timesteps.ends.any()
    assert (chunk.timesteps.joined & ~chunk.timesteps.ends[..., None]).any()
    return Case(learner, state, chunk)


@eqx.filter_jit
def by_hand(case: Case) -> tuple[jax.Array, Any]:
    """Squared errors of every step, one after the other, and the places that the rollout should have had."""
    model, target = case.state.model, case.state.target

    def one(memories: tuple[ValueMemory, Memory], now: tuple) -> tuple:
        (mine, other), (acted, led, actions) = memories, now
        types, outlook, mine = jax.vmap(model.look)(mine, acted.obs, acted.fresh)
        taken, _ = jax.vmap(model.value.taken)(team_of(types, outlook, acted.obs.visible), actions)
        _, other = jax.vmap(target.types.step)(other, acted.obs, acted.fresh)
        next_types, _ = jax.vmap(target.types.step)(other, led.final_obs, led.joined)
        _, next_outlook, _ = jax.vmap(model.look)(mine, led.final_obs, led.joined)
        successor = jax.vmap(target.values)(team_of(next_types, next_outlook, led.final_obs.visible))
        worth = jnp.where(led.final_obs.legal, successor, -jnp.inf).max(-1)
        y = led.reward + case.learner.discount * led.discount * worth
        return (mine, other), ((taken - y) ** 2, mine.placed)

    begin = case.chunk.before, case.chunk.before.value
    steps = acted_on(case.chunk), led_to(case.chunk), case.chunk.truth.actions
    return jax.lax.scan(one, begin, steps)[1]


def test_the_loss_equals_that_of_steps_taken_one_by_one(case):
    errors, placed = by_hand(case)
    _, _, metrics = learn(case.learner, case.state, case.chunk)
    np.testing.assert_allclose(metrics["value_loss"], errors.mean(), rtol=1e-4)
    if placed is not None:
        np.testing.assert_array_equal(placed.place, case.chunk.memory.placed.place)
        assert placed.place.max() > 1


def test_the_loss_is_the_same_where_a_time_limit_is_a_true_end_and_only_what_is_seen_next_is_looked_at(case):
    over = case.chunk.timesteps.discount * ~case.chunk.timesteps.ends
    ended = eqx.tree_at(lambda c: c.chunk.timesteps.discount, case, over)
    spec = dataclasses.replace(case.state.model.spec, time_limit_terminates=True)
    model = Model(case.state.model.value, case.state.model.agent, spec)
    state = TrainState(model, case.state.target, case.state.opt_state, case.state.updates)
    _, _, metrics = learn(case.learner, state, ended.chunk)
    np.testing.assert_allclose(metrics["value_loss"], by_hand(ended)[0].mean(), rtol=1e-4)


def test_the_value_loss_does_not_touch_the_agent_model(case):
    assert case.learner.agent_model_weight == 0
    after, _, _ = learn(case.learner, case.state, case.chunk)
    same = jax.tree.map(lambda a, b: bool((a == b).all()), after.model, case.state.model)
    assert all(jax.tree.leaves(same.agent))
    assert not any(jax.tree.leaves(same.value.types.head))


@pytest.mark.parametrize("pair_range", ["positive", "free"])
def test_only_utilities_that_cannot_be_negative_tell_which_targets_they_cannot_reach(pair_range):
    learner = GPL(graph="star", individual_range="positive", pair_range=pair_range, regulariser=0.5, rank=2, **TINY)
    task, state = short_game(), random_state(learner, short_game().spec)
    chunk = eqx.filter_eval_shape(play, task, learner, state.model)
    metrics = eqx.filter_eval_shape(update, learner, state, chunk)[2]
    assert ("unreachable_targets" in metrics) == (pair_range == "positive")
    assert "penalty" in metrics


VALUES, THERE = jnp.array([2.0, 5.0, 7.0, 1.0]), jnp.array([True, True, False, True])


def test_on_a_star_the_learners_utility_is_drawn_to_the_sum_of_the_teammates():
    value, gradient = jax.value_and_grad(star_penalty)(VALUES, THERE)
    assert value == (2 - 6) ** 2
    assert gradient.tolist() == [2 * (2 - 6), 0, 0, 0]


def test_on_the_complete_graph_teammates_utilities_are_drawn_to_the_learners():
    value, gradient = jax.value_and_grad(complete_penalty)(VALUES, THERE)
    np.testing.assert_allclose(value, (0 + 9 + 1) / 3, rtol=1e-6)
    np.testing.assert_allclose(gradient, [0, 2 * 3 / 3, 0, 2 * -1 / 3], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: QL(places=0), "QL's places must be at least 1"),
        (lambda: GNN(heads=0), "GNN's heads must be positive; got 0"),
        (lambda: GPL(regulariser=-1.0), "at least 0; got -1.0"),
        (lambda: QL(discount=2.0), "QL needs 0 <= discount <= 1"),
        (lambda: jax.eval_shape(lambda: QL().init(random.key(0), Spec(1, 1, 2))), "set places"),
    ],
)
def test_mistakes_get_a_sentence(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()


def test_a_task_knows_the_largest_team_of_its_splits():
    assert lbf_released().spec.most_agents == 5
    assert short_game().spec.most_agents == 2
