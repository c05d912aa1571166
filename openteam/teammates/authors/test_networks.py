"""The authors' networks with made-up numbers: what they read, what they remember, and what they compute."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.types import Observation, View, first_view
from openteam.core.view import viewer_first
from openteam.errors import UserError
from openteam.task import Task
from openteam.tasks import TASKS
from openteam.teammates import Pool
from openteam.teammates.authors.actor_critic import PublishedForagers, list_agents
from openteam.teammates.authors.fort import FortAgent, PublishedFort, TeamNetwork, blank_bodies, both_sides, look
from openteam.teammates.authors.graph_dqn import GraphDQN, GraphMemory, LSTMMemory, carry
from openteam.teammates.authors.hunters import GraphAgent, PublishedGraphDQN

pytestmark = pytest.mark.usefixtures("authors_imported")
SHARED = jnp.array([1.0, 2, 7, 8, *np.eye(4)[0], *np.eye(4)[2]])


def test_an_actor_critic_lists_itself_then_the_others_by_slot_then_nobody():
    agents = jnp.array([[0.0, 0, 1], [1, 1, 2], [-1, -1, 0], [3, 3, 1]])
    there = jnp.array([True, True, False, True])
    listed = jax.jit(list_agents)(agents, there, 3)
    assert listed.tolist() == [[3, 3, 1], [0, 0, 1], [1, 1, 2], [-1, -1, 0], [-1, -1, 0]]


def test_an_actor_critic_in_any_slot_reads_the_others_by_slot():
    """In view 2 the rows of slots 0 and 2 are swapped, and it must not read slot 1 before slot 0."""
    agents, family = jnp.array([[4.0, 4, 1], [1, 1, 2], [2, 5, 1]]), PublishedForagers()
    foods = jnp.array([1.0, 1, 2, 3, 3, 1, -1, -1, 0])

    @jax.jit
    def scores(slot):
        obs = Observation(viewer_first(agents, slot), foods, jnp.ones(3, bool), jnp.ones(6, bool))
        policy = family.member_in(jnp.array(0), slot)
        rows = viewer_first(obs.agents, policy.slot)
        return policy.networks.layers[0](jnp.concatenate([foods, list_agents(rows, obs.visible, slot).ravel()])[None])

    weight = family.agents["a2c-0"]["network"]["layers.0.weight"]
    bias = family.agents["a2c-0"]["network"]["layers.0.bias"]
    x = [*foods, *agents[2], *agents[0], *agents[1], -1, -1, 0, -1, -1, 0]
    np.testing.assert_allclose(scores(2).ravel(), weight @ np.array(x) + bias, rtol=1e-5, atol=1e-5)


def marked(edges):
    """A memory of three places in which every number says of which edge or node it is."""
    pairs, places = np.full((3, 3, 1), -1.0), np.array([[10.0], [11], [12]])
    for (source, target), mark in edges.items():
        pairs[source, target] = mark
    shared = LSTMMemory(jnp.full(1, 7.0), jnp.full(1, 7.0))
    part = lambda array: LSTMMemory(jnp.array(array), jnp.array(array))  # noqa: E731
    return GraphMemory(part(pairs), part(places), shared)


def edges_of(memory):
    return {(i, j): float(memory.edges.cell[i, j, 0]) for i in range(3) for j in range(3) if i != j}


CARRY = jax.jit(carry)


def test_edges_get_each_others_memories_when_somebody_arrives():
    """As released: of a team that grows from two to three, the first two edges of the new order get the old two."""
    after = CARRY(marked({(0, 1): 1, (1, 0): 2}), jnp.array([True, True, False]), 3)
    assert edges_of(after) == {(0, 1): 1, (0, 2): 2, (1, 0): 0, (1, 2): 0, (2, 0): 0, (2, 1): 0}
    assert after.nodes.hidden.ravel().tolist() == [10, 11, 0]
    assert after.shared.hidden == 7


def test_memories_move_up_with_those_who_stay():
    before = marked({(0, 1): 1, (0, 2): 2, (1, 0): 3, (1, 2): 4, (2, 0): 5, (2, 1): 6})
    after = CARRY(before, jnp.array([True, False, True]), 2)
    assert edges_of(after) == {(0, 1): 2, (1, 0): 5, (0, 2): 0, (1, 2): 0, (2, 0): 0, (2, 1): 0}
    assert after.nodes.cell.ravel().tolist() == [10, 12, 0]
    assert edges_of(CARRY(before, jnp.ones(3, bool), 3)) == edges_of(before)


@eqx.filter_jit
def follow(policy, cells, there, new, starts):
    """The memory of a graph agent after a few steps."""

    def step(memory, now):
        cells, there, new, starts = now
        obs = Observation(cells, SHARED, there, jnp.ones(5, bool))
        return policy.act(jax.random.key(0), memory, View(obs, starts, new, jnp.array(-1)))[1], None

    return jax.lax.scan(step, policy.start(3), (cells, there, new, starts))[0]


def test_a_graph_agent_lists_newcomers_last_and_forgets_at_a_start():
    policy = PublishedGraphDQN().member(jnp.array(0))
    cells = jnp.tile(jnp.array([[1.0, 1], [4, 5], [8, 2]]), (3, 1, 1))
    there = jnp.array([[True, False, True], [True, True, True], [True, True, True]])
    new = jnp.array([[True, False, True], [False, True, False], [False] * 3])
    after = follow(policy, cells, there, new, jnp.array([True, False, False]))
    assert after.slots.tolist() == [0, 2, 1]
    again = follow(policy, cells, there, jnp.array([[True] * 3, [True] * 3, [True] * 3]), jnp.array([True] * 3))
    once = follow(policy, cells[2:], there[2:], jnp.ones((1, 3), bool), jnp.array([True]))
    assert again.slots.tolist() == [0, 1, 2]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), again, once)
    assert np.abs(after.team.shared.hidden - once.team.shared.hidden).max() > 1e-3


def test_the_graph_network_computes_the_same_in_any_order_and_with_room_to_spare():
    network = GraphDQN.of(PublishedGraphDQN().state)
    step = eqx.filter_jit(network.step)
    cells = jnp.array([[1.0, 1], [4, 5], [8, 2], [0, 0]])
    values, memory = step(network.start(4), cells, SHARED, jnp.array([True, True, True, False]))
    order = np.array([2, 3, 0, 1])
    moved, other = step(network.start(4), cells[order], SHARED, jnp.array([True, False, True, True]))
    np.testing.assert_allclose(np.asarray(values)[[2, 0, 1]], np.asarray(moved)[[0, 2, 3]], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(memory.edges.cell[2, 0], other.edges.cell[0, 2], rtol=1e-4, atol=1e-5)
    assert (memory.nodes.cell[3] == 0).all()


def plain(x, state, name):
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def softmax(scores):
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def test_a_team_network_equals_the_formulas_with_all_their_weights():
    state = PublishedFort().agents["ep650"]["guards"]
    own, others = np.random.default_rng(1).normal(size=(2, 5, 6)).astype("f4")
    attend, talk = (
        {part: state[f"{name}.W_{part}"][0] for part in ("query", "key", "val", "out")}
        for name in ("oppAttn", "messages")
    )
    h, g = np.maximum(plain(own, state, "encoder.0"), 0), np.maximum(plain(others, state, "oppEncoder.0"), 0)
    a = softmax((h @ attend["key"]) @ (g @ attend["query"]).T / 8)
    h = np.concatenate([h, (a @ (g @ attend["val"])) @ attend["out"]], 1)
    for _ in range(3):
        scores = (h @ talk["query"]) @ (h @ talk["key"]).T / np.sqrt(128)
        np.fill_diagonal(scores, -np.inf)
        m = (softmax(scores) @ (h @ talk["val"])) @ talk["out"]
        h = np.maximum(plain(np.concatenate([h, m], 1), state, "update.0"), 0)
    expected = plain(np.maximum(plain(h, state, "policy_head.0"), 0), state, "dist.linear")
    computed = eqx.filter_jit(TeamNetwork.of(state).__call__)(own, others)
    np.testing.assert_allclose(computed, expected, rtol=1e-4, atol=1e-4)


def test_who_is_out_lies_as_it_was_last_seen_and_who_does_not_take_part_stands_at_an_entrance():
    rows = jnp.arange(28, dtype=jnp.float32).reshape(4, 7)
    looking = jax.jit(look)

    def view(there):
        obs = Observation(jnp.where(there[:, None], rows, 0), jnp.zeros(0), there, jnp.ones(8, bool))
        return first_view(obs)

    everyone, one_less = jnp.ones(4, bool), jnp.array([True, False, True, True])
    opened = looking(jax.random.key(0), blank_bodies(4), view(everyone), jnp.array(True), jnp.array(0))
    after = looking(jax.random.key(1), opened, view(one_less), jnp.array(False), jnp.array(0))
    assert after.slots[:, 0].tolist() == [1, 0, 1, 1]
    np.testing.assert_array_equal(after.slots[:, 1:], rows[:, :5])
    guards, attackers = both_sides(after)
    assert (len(guards), len(attackers)) == (5, 5)
    np.testing.assert_array_equal(after.team, opened.team)
    assert (guards[2:, 0] == 0).all()
    assert (guards[2:, 2] > 0.6).all()
    assert (attackers[2:, 2] < -0.6).all()
    assert guards[2:, 3] == pytest.approx(1.5 * np.pi)


def test_all_slots_of_fortattack_act_by_the_file_that_each_has_drawn():
    """A file that always shoots, and one that never does anything."""
    family, slots = PublishedFort(("ep0", "ep220")), 4
    fixed = jax.tree.map(lambda leaf: np.zeros_like(leaf), family.networks)
    bias = np.stack([100 * np.eye(8)[7], 100 * np.eye(8)[0]]).astype("f4")
    networks = eqx.tree_at(lambda pair: [net.head.layers[1].bias for net in pair], fixed, [bias, bias])

    class Fixed(PublishedFort):
        @property
        def networks(self):
            return networks

    family = Fixed(("ep0", "ep220"))
    obs = Observation(jnp.ones((slots, 7)), jnp.zeros(0), jnp.ones(slots, bool), jnp.ones(8, bool))
    views = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (slots, *leaf.shape)), first_view(obs))
    memory = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (slots, *leaf.shape)), blank_bodies(slots))
    keys = jax.random.split(jax.random.key(0), slots)
    actions, after = eqx.filter_jit(family.act)(keys, jnp.array([0, 1, 1, 0]), memory, views)
    assert actions.tolist() == [7, 0, 0, 7]
    assert after.slots.shape == (slots, slots, 6)
    assert isinstance(family.member(jnp.array(1)), FortAgent)


def test_the_released_numbers_of_types_are_drawn():
    sizes = {name: TASKS[name]().pool.size for name in TASKS if name.endswith("-authors")}
    assert sizes == {
        "lbf-authors": 9, "wolfpack-authors": 9, "fortattack-authors": 7, "lbf-partial-authors": 9,
        "wolfpack-partial-authors": 9, "navigation-partial-authors": 6,
    }  # fmt: skip
    fort = TASKS["fortattack-authors"]()
    assert (fort.pool.teams, fort.pool.redraw, fort.world.movement.wrap_angle) == (2, False, False)
    assert TASKS["navigation-partial-authors"]().split("unseen").pool.size == 14


def test_agents_of_another_world_or_of_no_name_are_refused():
    task = TASKS["lbf-authors"]()
    with pytest.raises(UserError, match="PublishedGraphDQN hunts two prey in Wolfpack"):
        Task(task.world, task.openness, Pool((PublishedGraphDQN(),)))
    with pytest.raises(UserError, match=r"names are of a2c-0, .*; got a2c-10"):
        PublishedForagers(("a2c-10",))


def test_a_graph_agent_is_of_the_slot_it_plays_in():
    assert isinstance(PublishedGraphDQN().member_in(jnp.array(0), jnp.array(2)), GraphAgent)
