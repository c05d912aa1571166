"""The agent model against a loop over agents and pairs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.models.agent import AgentModelSizes, RelationalForwardModel, action_log_likelihood
from openteam.models.graph import AbstractGraph, CompleteGraph, StarGraph
from openteam.models.layers import relu_sum

SLOTS, TYPE, ACTIONS = 6, 4, 3
TEAM = np.array([True, True, False, True, False, True])


def agent_model(seed: int = 0, graph: AbstractGraph = CompleteGraph()) -> RelationalForwardModel:
    """A model with random weights that cost no compilation."""
    rng = np.random.default_rng(seed)
    sizes = AgentModelSizes(width=5, embedding=3, readout_width=4)
    shapes = eqx.filter_eval_shape(sizes.build, jax.random.key(0), TYPE, ACTIONS, graph)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), jnp.float32), shapes)


def random_types(slots: int = SLOTS) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(slots, TYPE)).astype(np.float32)


call = eqx.filter_jit(lambda model, types, team: model(types, team))


def logits_by_hand(model: RelationalForwardModel, types: jax.Array, team: np.ndarray, j: int) -> jax.Array:
    """One row: messages along every edge from others who exist, added up one by one."""
    message = jnp.zeros(model.edge_out.bias.shape)
    for k in np.flatnonzero(team).tolist():
        if k != j and (isinstance(model.graph, CompleteGraph) or 0 in (j, k)):
            message += model.edge_out(jax.nn.relu(model.edge_in(types[k], types[j])))
    return model.readout(model.node(types[j], message))


@pytest.mark.parametrize("graph", [CompleteGraph(), StarGraph()], ids=["complete", "star"])
@pytest.mark.parametrize("team", [TEAM, np.ones(SLOTS, bool), np.arange(SLOTS) == 0], ids=["some", "all", "alone"])
def test_logits_equal_a_loop_over_edges(team, graph):
    model, types = agent_model(graph=graph), jnp.asarray(random_types())
    logits = call(model, types, team)
    for j in np.flatnonzero(team).tolist():
        np.testing.assert_allclose(logits[j], logits_by_hand(model, types, team, j), atol=1e-4)


def test_reordering_agents_reorders_their_logits():
    model, types, order = agent_model(), random_types(), np.array([4, 2, 0, 5, 1, 3])
    before, after = call(model, types, TEAM), call(model, types[order], TEAM[order])
    there = TEAM[order]
    np.testing.assert_allclose(after[there], before[order][there], atol=1e-4)


@pytest.mark.parametrize("wide", [SLOTS, 100], ids=["all-pairs", "sorted"])
@pytest.mark.parametrize("garbage", [0.0, -1.0, 1e6, -1e12])
def test_absent_slots_change_nothing_whatever_they_hold(garbage, wide):
    model, types, at = agent_model(), random_types(3), np.array([0, 2, 5])
    before = call(model, types, np.ones(3, bool))
    wide_types = np.full((wide, TYPE), garbage, np.float32)
    wide_types[at] = types
    after = call(model, wide_types, np.isin(np.arange(wide), at))
    np.testing.assert_allclose(after[at], before, atol=1e-4)


def pairs_by_hand(sender: np.ndarray, receiver: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Entry (k, j): does sender k reach receiver j."""
    sender, receiver = sender.astype(np.float64), receiver.astype(np.float64)
    others = weight[:, None, None] * (1 - np.eye(len(weight)))[:, :, None]
    return others * ((sender[:, None] + receiver[None]) > 0)


def random_edges(slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(slots)
    sender, receiver = rng.normal(size=(2, slots, 4)).astype(np.float32)
    return sender, receiver, rng.integers(2, size=slots).astype(np.float32)


@pytest.mark.parametrize(
    ("slots", "kind"), [(1, float), (2, float), (20, float), (20, bool), (300, float), (300, bool)]
)
def test_the_sum_of_messages_equals_all_pairs_however_it_is_computed(slots, kind):
    sender, receiver, weight = random_edges(slots)
    active = pairs_by_hand(sender, receiver, weight)
    expected = (active * (sender[:, None].astype(np.float64) + receiver[None])).sum(0)
    np.testing.assert_allclose(jax.jit(relu_sum)(sender, receiver, weight.astype(kind)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("slots", "kind"), [(20, float), (300, float), (300, bool)])
def test_the_sum_of_messages_has_the_gradient_of_all_pairs(slots, kind):
    sender, receiver, weight = random_edges(slots)
    active = pairs_by_hand(sender, receiver, weight)
    gradient = jax.jit(jax.grad(lambda s, r: relu_sum(s, r, jnp.asarray(weight, kind)).sum(), argnums=(0, 1)))(
        sender, receiver
    )
    np.testing.assert_allclose(gradient[0], active.sum(1), atol=1e-3)
    np.testing.assert_allclose(gradient[1], active.sum(0), atol=1e-3)


def test_the_likelihood_counts_present_teammates_and_never_the_learner():
    logits = jnp.log(jnp.array([[0.2, 0.8], [0.25, 0.75], [0.5, 0.5], [0.1, 0.9]]))
    counts = jnp.array([True, True, False, True])
    chosen = action_log_likelihood(logits, jnp.array([0, 1, 0, 0]), counts)
    np.testing.assert_allclose(chosen, [0, np.log(0.75), 0, np.log(0.1)], atol=1e-6)


def test_the_likelihood_does_not_care_for_the_scale_of_odds():
    logits = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    actions, counts = jnp.array([0, 1, 2]), jnp.ones(3, bool)
    shifted = action_log_likelihood(jnp.asarray(logits + 7), actions, counts)
    np.testing.assert_allclose(shifted, action_log_likelihood(jnp.asarray(logits), actions, counts), atol=1e-5)
