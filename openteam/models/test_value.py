"""Values of the learner's own action: from places, and by attention."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.types import Spec
from openteam.models.graph_value import GraphValue
from openteam.models.placed_value import PlacedValue
from openteam.models.places import Places
from openteam.models.types import TypeInference
from openteam.models.value import AbstractValueModel, Team

SLOTS, TYPE, ACTIONS, PLACES = 4, 5, 3, 6
SPEC = Spec(agent_features=2, shared_features=2, actions=ACTIONS)
values = eqx.filter_jit(lambda model, team: model.values(team))


def random(*shape: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def build(kind: str, key: jax.Array) -> AbstractValueModel:
    k_types, key = jax.random.split(key)
    types = TypeInference(k_types, SPEC, encoder_width=3, hidden=3, type_size=TYPE)
    if kind == "placed":
        return PlacedValue(key, types, TYPE + ACTIONS, ACTIONS, width=8, places=Places(PLACES))
    sizes = {"rounds": 2, "heads": 2, "head_size": 3, "node_width": 8}
    return GraphValue(key, types, TYPE + ACTIONS, ACTIONS, width=8, **sizes)


def model(kind: str) -> AbstractValueModel:
    """A model with random weights that cost no compilation."""
    leaves, tree = jax.tree.flatten(eqx.filter_eval_shape(build, kind, jax.random.key(0)))
    return jax.tree.unflatten(tree, [0.7 * random(*leaf.shape, seed=n) for n, leaf in enumerate(leaves)])


def team(visible=(True, True, False, True), place=(0, 4, 1, 2)) -> Team:
    probabilities = jax.nn.softmax(random(SLOTS, ACTIONS, seed=91))
    return Team(random(SLOTS, TYPE, seed=90), jnp.array(visible), probabilities, jnp.array(place))


def in_slots(whole: Team, order: list[int]) -> Team:
    return jax.tree.map(lambda leaf: leaf[jnp.array(order)], whole)


def test_places_decide_where_a_teammate_is_read_and_slots_do_not():
    network, whole = model("placed"), team()
    np.testing.assert_array_equal(values(network, whole), values(network, in_slots(whole, [0, 3, 2, 1])))
    elsewhere = team(place=(0, 2, 1, 4))
    assert not np.allclose(values(network, whole), values(network, elsewhere), atol=1e-3)


def test_the_placed_input_is_types_and_probabilities_and_a_placeholder_where_nobody_is():
    network, whole = model("placed"), team()
    rows = np.full((PLACES, TYPE + ACTIONS), -1.0, np.float32)
    for slot in (0, 1, 3):
        expected = np.zeros(ACTIONS) if slot == 0 else whole.probabilities[slot]
        rows[int(whole.place[slot])] = np.concatenate([whole.types[slot], expected])
    np.testing.assert_allclose(values(network, whole), network.network(jnp.asarray(rows.reshape(-1))), atol=1e-5)


def test_attention_does_not_care_for_slots_and_goes_without_places():
    network, whole = model("graph"), eqx.tree_at(lambda t: t.place, team(), None)
    np.testing.assert_allclose(values(network, whole), values(network, in_slots(whole, [0, 3, 1, 2])), atol=1e-5)
    assert not np.allclose(values(network, whole), values(network, in_slots(whole, [1, 0, 2, 3])), atol=1e-3)


@pytest.mark.parametrize("kind", ["placed", "graph"])
def test_absent_slots_change_nothing_whatever_they_hold_and_present_ones_do(kind):
    network, whole = model(kind), team()
    before = values(network, whole)
    for slot, matters in ((2, False), (3, True)):
        for garbage in (1e6, -1e6):
            other = eqx.tree_at(lambda t: t.types, whole, whole.types.at[slot].set(garbage))
            assert np.allclose(before, values(network, other), atol=1e-5) != matters


@pytest.mark.parametrize("kind", ["placed", "graph"])
def test_what_teammates_are_expected_to_do_matters_and_what_the_learner_is_expected_to_do_does_not(kind):
    network, whole = model(kind), team()
    before = values(network, whole)
    for slot, matters in ((0, False), (1, True)):
        certain = eqx.tree_at(
            lambda t: t.probabilities, whole, whole.probabilities.at[slot].set(jnp.array([0, 0, 1.0]))
        )
        assert np.allclose(before, values(network, certain), atol=1e-6) != matters


@pytest.mark.parametrize("kind", ["placed", "graph"])
def test_only_the_learners_own_action_is_scored(kind):
    network, whole = model(kind), team()
    for action in range(ACTIONS):
        value, penalty = network.taken(whole, jnp.array([action, 2, 0, 1]))
        np.testing.assert_allclose(value, values(network, whole)[action], atol=1e-6)
        assert penalty is None


def test_attention_gives_finite_gradients_to_a_lonely_learner():
    network, alone = model("graph"), team(visible=(True, False, False, False))
    gradient = eqx.filter_grad(lambda m: m.values(alone).sum())(network)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
