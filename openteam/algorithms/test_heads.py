"""GPL's learner with other heads, and with type inference shared: losses by hand, memory laws, explanations."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms import GPL
from openteam.algorithms.gpl import GPLPolicy, team_of, value_of
from openteam.algorithms.test_gpl import learn_once, random_state, update
from openteam.core import random
from openteam.core.learner import TrainState
from openteam.core.memory import Memory, permute, resize
from openteam.core.policy import Decision
from openteam.core.types import Chunk, Observation, Spec, View
from openteam.errors import UserError
from openteam.models.agent import AgentModelSizes
from openteam.models.attention_head import AttentionHead
from openteam.models.coordination_graph import CoordinationGraph, JointValueNetwork
from openteam.models.fixed_slot_head import FixedSlotHead
from openteam.models.graph import CompleteGraph, StarGraph
from openteam.models.joint_value import Factored, PerEdge, Signed, Star
from openteam.models.lstm import LSTMState
from openteam.models.value import Team
from openteam.probes import Arrival, Constant, ConstantPolicies, Probe
from openteam.rollout.acting import collect, start_actor
from openteam.task import Task
from openteam.tasks import lbf_released
from openteam.teammates import Pool

TINY: dict[str, Any] = {
    "envs": 3, "update_every": 12, "discount": 0.7, "learning_rate": 0.01, "encoder_width": 8, "hidden": 7,
    "type_size": 6, "agent_model": AgentModelSizes(8, 8, 8), "mask_illegal": True, "agent_model_weight": 0.0,
}  # fmt: skip
WITHOUT_AGENT_MODEL: dict[str, Any] = TINY | {"agent_model": None}
FIXED, ATTENTION = FixedSlotHead(max_agents=5, width=8), AttentionHead(heads=2, head_size=3, node_width=6, width=8)
GRAPH = CoordinationGraph(Factored(2), width=8)
LEARNERS: dict[str, GPL] = {
    "ql-am": GPL(head=FIXED, **TINY),
    "gnn-am": GPL(head=ATTENTION, **TINY),
    "gpl-shared": GPL(shared_types=True, head=GRAPH, **TINY),
}


def short_game() -> Task:
    """Five steps, a teammate who joins after two, and episodes that are cut after three."""
    world, pool = Probe(Constant(), length=5), Pool((ConstantPolicies(),))
    return Task(world, Arrival(2), pool, horizon=3, time_limit_terminates=False)


def play(task: Task, learner: GPL, model: Any) -> Chunk:
    policy = learner.policy(model, jnp.zeros(()))
    actor = start_actor(task, policy, random.key(1), learner.envs)
    return collect(task, policy, actor, random.key(2), learner.update_every)[1]


class Case(eqx.Module):
    learner: GPL
    state: TrainState
    chunk: Chunk


@pytest.fixture(scope="module", params=LEARNERS)
def case(request) -> Case:
    task, learner = short_game(), LEARNERS[request.param]
    state = random_state(learner, task.spec)
    chunk = eqx.filter_jit(play)(task, learner, state.model)
    assert chunk.sequence.ends.any()
    assert (chunk.sequence.view.new & ~chunk.sequence.view.starts[..., None]).any()
    return Case(learner, state, chunk)


@eqx.filter_jit
def by_hand(case: Case) -> tuple[jax.Array, Any]:
    """Squared errors of every step, one after the other, and the fixed slots that the rollout should have had."""
    model, target = case.state.model, case.state.target

    def one(memories: tuple[Memory, LSTMState], now: tuple) -> tuple:
        (mine, other), (here, after, actions, order) = memories, now
        types, prediction, slots = jax.vmap(model.infer)(mine, here.view)
        mine = Memory(order, slots)
        team = team_of(types, prediction, here.view.obs.visible)
        predicted, _ = jax.vmap(lambda team, actions: value_of(model.value.head, team, actions))(team, actions)
        _, other = jax.vmap(target.types.step)(other, here.view.obs, here.view.fresh)
        next_types, _ = jax.vmap(target.types.step)(other, after.final_view.obs, after.final_view.fresh)
        _, next_prediction, _ = jax.vmap(model.infer)(mine, after.final_view)
        next_team = team_of(next_types, next_prediction, after.final_view.obs.visible)
        successor = jax.vmap(lambda team: target.head(team).action_values())(next_team)
        best = jnp.where(after.final_view.obs.legal, successor, -jnp.inf).max(-1)
        y = after.reward + case.learner.discount * after.discount * best
        return (mine, other), ((predicted - y) ** 2, slots.entry)

    chunk = case.chunk
    steps = chunk.timesteps, chunk.next_timesteps, chunk.truth.actions, chunk.memory.team
    return jax.lax.scan(one, (chunk.before, chunk.before.slots.value), steps)[1]


def test_the_loss_equals_that_of_steps_taken_one_by_one(case):
    errors, entry = by_hand(case)
    _, _, metrics = learn_once(case.learner, case.state, case.chunk)
    np.testing.assert_allclose(metrics["value_loss"], errors.mean(), rtol=1e-4)
    if not isinstance(entry, tuple):
        np.testing.assert_array_equal(entry, case.chunk.memory.slots.entry)
        assert entry.max() > 1


def test_where_a_time_limit_is_a_true_end_the_next_view_gives_the_same_loss(case):
    over = case.chunk.sequence.discount * ~case.chunk.sequence.ends
    ended = eqx.tree_at(lambda c: c.chunk.sequence.discount, case, over)
    spec = dataclasses.replace(case.state.model.spec, time_limit_terminates=True)
    state = dataclasses.replace(case.state, model=dataclasses.replace(case.state.model, spec=spec))
    _, _, metrics = learn_once(case.learner, state, ended.chunk)
    np.testing.assert_allclose(metrics["value_loss"], by_hand(ended)[0].mean(), rtol=1e-4)


def test_the_value_loss_does_not_touch_the_agent_model(case):
    assert case.learner.agent_model_weight == 0
    after, _, _ = learn_once(case.learner, case.state, case.chunk)
    same = jax.tree.map(lambda a, b: bool((a == b).all()), after.model, case.state.model)
    assert all(jax.tree.leaves(same.agent))
    assert not any(jax.tree.leaves(same.value.types.head))


@pytest.mark.parametrize("pair_sign", [1, None], ids=["positive", "free"])
def test_only_utilities_that_cannot_be_negative_tell_which_targets_they_cannot_reach(pair_sign):
    pairwise = Signed(Star(Factored(2)), pair_sign=pair_sign)
    learner = GPL(head=CoordinationGraph(pairwise, width=8, regulariser=0.5), **TINY)
    task, state = short_game(), random_state(learner, short_game().spec)
    chunk = eqx.filter_eval_shape(play, task, learner, state.model)
    metrics = eqx.filter_eval_shape(update, learner, state, chunk)[2]
    assert ("unreachable_targets" in metrics) == (pair_sign == 1)
    assert {"value_loss", "joint_value", "agent_model_loss", "penalty", "gradient_norm"} <= set(metrics)


def test_metrics_of_a_head_without_joint_values_are_named_after_what_they_are():
    learner = GPL(head=FIXED, **WITHOUT_AGENT_MODEL)
    task, state = short_game(), random_state(learner, short_game().spec)
    chunk = eqx.filter_eval_shape(play, task, learner, state.model)
    metrics = eqx.filter_eval_shape(update, learner, state, chunk)[2]
    assert set(metrics) == {"value_loss", "action_value", "gradient_norm"}


def test_a_gnn_may_read_its_last_layer_only():
    types = jnp.asarray(np.random.default_rng(0).normal(size=(3, 6)), jnp.float32)
    here = jnp.array([True, True, False])
    for last_only, reads in ((False, 6 + 6 + 6), (True, 6)):
        head = dataclasses.replace(ATTENTION, last_only=last_only)
        network = jax.jit(lambda key, head=head: head.build(key, 6, SPEC, predictions=False))(random.key(0))
        assert sum(len(weight) for weight in network.readout.layers[0].weights) == reads
        blind = jax.tree.map(jnp.zeros_like, network.layers[-1])  # what the last layer makes is 0
        network = eqx.tree_at(lambda n: n.layers, network, (network.layers[0], blind))
        values, other = (network(Team(rows, here, None, ())).action_values() for rows in (types, -types))
        assert np.allclose(values, other) == last_only


VALUES, THERE = jnp.array([2.0, 5.0, 7.0, 1.0]), jnp.array([True, True, False, True])


def test_on_a_star_the_learners_utility_is_drawn_to_the_sum_of_the_teammates():
    value, gradient = jax.value_and_grad(StarGraph().regulariser)(VALUES, THERE)
    assert value == (2 - 6) ** 2
    assert gradient.tolist() == [2 * (2 - 6), 0, 0, 0]


def test_on_the_complete_graph_teammates_utilities_are_drawn_to_the_learners():
    value, gradient = jax.value_and_grad(CompleteGraph().regulariser)(VALUES, THERE)
    np.testing.assert_allclose(value, (0 + 9 + 1) / 3, rtol=1e-6)
    np.testing.assert_allclose(gradient, [0, 2 * 3 / 3, 0, 2 * -1 / 3], rtol=1e-6)


# What a policy remembers can follow its agents to other slots -------------------------------------------------------

SPEC = Spec(agent_features=2, shared_features=2, actions=3, max_agents=5)
EVERYBODY: dict[str, GPL] = {
    "gpl": GPL(head=GRAPH, **TINY),
    "gpl-shared-per-edge": GPL(shared_types=True, head=CoordinationGraph(PerEdge(2), width=8), **TINY),
    "ciao-s": GPL(head=CoordinationGraph(Signed(Star(Factored(2))), width=8, regulariser=0.5), **TINY),
    "ciao-c": GPL(head=CoordinationGraph(Signed(Factored(2)), width=8, regulariser=0.5), **TINY),
    "ql": GPL(head=FIXED, **WITHOUT_AGENT_MODEL),
    "ql-am": GPL(head=FIXED, **TINY),
    "gnn": GPL(head=ATTENTION, **WITHOUT_AGENT_MODEL),
    "gnn-am": GPL(head=ATTENTION, **TINY),
}
decide = eqx.filter_jit(lambda policy, memory, view: policy.decide(random.key(7), memory, view))


def view_of(seed: int, visible: list[bool], new: list[bool], *, starts: bool = False) -> View:
    rng = np.random.default_rng(seed)
    agents, shared = rng.normal(size=(len(visible), 2)), rng.normal(size=2)
    obs = Observation(jnp.float32(agents), jnp.float32(shared), jnp.array(visible), jnp.array([True, True, seed > 1]))
    return View(obs, jnp.array(starts), jnp.array(new), jnp.asarray(0, jnp.int32))


class Scene(eqx.Module):
    """A policy that has seen two views, and a third in which somebody new is in slot 1."""

    policy: GPLPolicy
    memory: Memory
    view: View


@pytest.fixture(scope="module", params=EVERYBODY)
def scene(request) -> Scene:
    policy = EVERYBODY[request.param].frozen(random_state(EVERYBODY[request.param], SPEC).model)
    memory = policy.start(4)
    opening = view_of(0, [True, True, False, True], [True, True, False, True], starts=True)
    for view in (opening, view_of(1, [True, True, True, True], [False, False, True, False])):
        memory = decide(policy, memory, view).memory
    return Scene(policy, memory, view_of(2, [True, True, False, True], [False, True, False, False]))


def same_decision(one: Decision, other: Decision, order: list[int]) -> None:
    """The same action for the same reasons, slots in this order."""
    assert one.action == other.action
    there, mine = one.explanation, other.explanation
    np.testing.assert_allclose(mine.action_values, there.action_values, atol=1e-5)
    np.testing.assert_allclose(mine.probabilities, there.probabilities, atol=1e-5)
    np.testing.assert_allclose(mine.types[: len(order)], there.types[jnp.array(order)], atol=1e-5)


def same_memory(one: Memory, other: Memory) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), one, other)


def test_permuting_slots_permutes_memory_and_changes_no_decision(scene):
    order = [0, 3, 1, 2]
    obs, indices = scene.view.obs, jnp.array(order)
    moved = Observation(obs.agents[indices], obs.shared, obs.visible[indices], obs.legal)
    view = View(moved, scene.view.starts, scene.view.new[indices], scene.view.previous_action)
    before = decide(scene.policy, scene.memory, scene.view)
    after = decide(scene.policy, permute(scene.memory, indices), view)
    same_decision(before, after, order)
    same_memory(permute(before.memory, indices), after.memory)
    assert not np.allclose(before.memory.slots.value.hidden, after.memory.slots.value.hidden, atol=1e-3)


def test_growing_the_team_and_shrinking_it_again_changes_no_decision(scene):
    grown = resize(scene.memory, scene.policy.start(5))
    again = resize(grown, scene.policy.start(4))
    jax.tree.map(np.testing.assert_array_equal, again, scene.memory)


def test_a_team_grown_with_absent_slots_decides_the_same(scene):
    def pad(leaf: jax.Array, value: Any) -> jax.Array:
        return jnp.concatenate([leaf, jnp.full((1, *leaf.shape[1:]), value, leaf.dtype)])

    obs = scene.view.obs
    larger = Observation(pad(obs.agents, -1), obs.shared, pad(obs.visible, False), obs.legal)
    view = View(larger, scene.view.starts, pad(scene.view.new, False), scene.view.previous_action)
    before = decide(scene.policy, scene.memory, scene.view)
    after = decide(scene.policy, resize(scene.memory, scene.policy.start(5)), view)
    same_decision(before, after, [0, 1, 2, 3])
    same_memory(before.memory, resize(after.memory, scene.policy.start(4)))


def test_an_explanation_has_every_part_that_the_model_has(scene):
    explanation = decide(scene.policy, scene.memory, scene.view).explanation
    assert explanation.probabilities.tolist() == np.eye(3)[int(np.argmax(explanation.action_values))].tolist()
    assert (explanation.predicted is None) == (scene.policy.model.agent is None)
    singular, pairs = explanation.singular, explanation.pairwise
    if isinstance(scene.policy.model.value.head, JointValueNetwork):
        others = explanation.predicted * (scene.view.obs.visible & (jnp.arange(4) > 0))[:, None]
        expected = singular[0] + (singular * others).sum() + jnp.einsum("kab,kb->a", pairs[0], others)
        expected += 0.5 * jnp.einsum("jkab,ja,kb->", pairs, others, others)
        np.testing.assert_allclose(explanation.action_values, expected, atol=1e-4)
    else:
        assert singular is pairs is None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FixedSlotHead(max_agents=0), "FixedSlotHead's max_agents must be positive; got 0"),
        (lambda: AttentionHead(heads=0), "AttentionHead's heads must be positive; got 0"),
        (lambda: CoordinationGraph(regulariser=-1.0), "regulariser must not be negative; got -1.0"),
        (lambda: GPL(discount=2.0), "GPL's discount must lie between 0.0 and 1.0"),
        (lambda: GPL(hidden=0), "GPL's hidden must be positive"),
        (
            lambda: jax.eval_shape(lambda: GPL(head=FixedSlotHead()).init(random.key(0), Spec(1, 1, 2))),
            "set max_agents",
        ),
        (lambda: jax.eval_shape(lambda: GPL(agent_model=None).init(random.key(0), SPEC)), "needs an agent model"),
    ],
)
def test_mistakes_get_a_sentence(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()


def test_a_task_knows_the_largest_team_of_its_splits():
    assert lbf_released().spec.max_agents == 5
    assert short_game().spec.max_agents == 2
