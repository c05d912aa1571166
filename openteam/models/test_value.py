"""Values of the learner's own action: from fixed slots, and by attention."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.types import Spec
from openteam.models.attention_head import AttentionHead
from openteam.models.fixed_slot_head import FixedSlotHead
from openteam.models.value import AbstractHead, AbstractValueNetwork, Team

SLOTS, TYPE, ACTIONS, ENTRIES = 4, 5, 3, 6
SPEC = Spec(agent_features=2, shared_features=2, actions=ACTIONS)
FIXED = FixedSlotHead(max_agents=ENTRIES, width=8)
ATTENTION = AttentionHead(rounds=2, heads=2, head_size=3, node_width=8, width=8)
heads = pytest.mark.parametrize("head", [FIXED, ATTENTION], ids=["fixed", "attention"])
values = eqx.filter_jit(lambda network, team: network(team).action_values())


def random(*shape: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def build(head: AbstractHead) -> AbstractValueNetwork:
    """A network with random weights that cost no compilation."""
    shapes = eqx.filter_eval_shape(lambda key: head.build(key, TYPE, SPEC, predictions=True), jax.random.key(0))
    leaves, tree = jax.tree.flatten(shapes)
    return jax.tree.unflatten(tree, [0.7 * random(*leaf.shape, seed=n) for n, leaf in enumerate(leaves)])


def team(visible=(True, True, False, True), entry=(0, 4, 1, 2)) -> Team:
    probabilities = jax.nn.softmax(random(SLOTS, ACTIONS, seed=91))
    return Team(random(SLOTS, TYPE, seed=90), jnp.array(visible), probabilities, jnp.array(entry))


def in_slots(whole: Team, order: list[int]) -> Team:
    return jax.tree.map(lambda leaf: leaf[jnp.array(order)], whole)


def test_entries_decide_where_a_teammate_is_read_and_slots_do_not():
    network, whole = build(FIXED), team()
    np.testing.assert_array_equal(values(network, whole), values(network, in_slots(whole, [0, 3, 2, 1])))
    elsewhere = team(entry=(0, 2, 1, 4))
    assert not np.allclose(values(network, whole), values(network, elsewhere), atol=1e-3)


def test_the_input_is_types_and_probabilities_and_a_placeholder_where_nobody_is():
    network, whole = build(FIXED), team()
    rows = np.full((ENTRIES, TYPE + ACTIONS), -1.0, np.float32)
    for slot in (0, 1, 3):
        expected = np.zeros(ACTIONS) if slot == 0 else whole.probabilities[slot]
        rows[int(whole.entry[slot])] = np.concatenate([whole.types[slot], expected])
    np.testing.assert_allclose(values(network, whole), network.network(jnp.asarray(rows.reshape(-1))), atol=1e-5)


def test_attention_does_not_depend_on_slots_and_needs_no_entries():
    network, whole = build(ATTENTION), eqx.tree_at(lambda t: t.entry, team(), ())
    np.testing.assert_allclose(values(network, whole), values(network, in_slots(whole, [0, 3, 1, 2])), atol=1e-5)
    assert not np.allclose(values(network, whole), values(network, in_slots(whole, [1, 0, 2, 3])), atol=1e-3)


@heads
def test_absent_slots_change_nothing_whatever_they_hold_and_present_ones_do(head):
    network, whole = build(head), team()
    before = values(network, whole)
    for slot, matters in ((2, False), (3, True)):
        for garbage in (1e6, -1e6):
            other = eqx.tree_at(lambda t: t.types, whole, whole.types.at[slot].set(garbage))
            assert np.allclose(before, values(network, other), atol=1e-5) != matters


@heads
def test_what_teammates_are_expected_to_do_matters_and_what_the_learner_is_expected_to_do_does_not(head):
    network, whole = build(head), team()
    before = values(network, whole)
    for slot, matters in ((0, False), (1, True)):
        certain = eqx.tree_at(
            lambda t: t.probabilities, whole, whole.probabilities.at[slot].set(jnp.array([0, 0, 1.0]))
        )
        assert np.allclose(before, values(network, certain), atol=1e-6) != matters


@heads
def test_the_value_of_what_was_done_is_that_of_the_learners_own_action(head):
    found = build(head)(team())
    for action in range(ACTIONS):
        actions = jnp.array([action, 2, 0, 1])
        np.testing.assert_allclose(found.of(actions), found.action_values()[action], atol=1e-6)
        assert found.penalty(actions) is None


def test_attention_gives_finite_gradients_to_a_lonely_learner():
    network, alone = build(ATTENTION), team(visible=(True, False, False, False))
    gradient = eqx.filter_grad(lambda m: m(alone).action_values().sum())(network)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
