"""MADDPG: lists of fixed length, and what actor and critic learn from."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.maddpg import MADDPG, MADDPGModel, gumbel_softmax
from openteam.algorithms.test_replay import SLOTS, SPEC, some_teams
from openteam.algorithms.test_replay_learners import LEARNERS, equal, random_model, slope_of
from openteam.core import random
from openteam.core.learner import TrainState
from openteam.core.sides import Sides
from openteam.core.types import Observation, View
from openteam.errors import UserError

LEARNER = LEARNERS["maddpg"]


@pytest.fixture(scope="module")
def model() -> MADDPGModel:
    """Tiny networks are often dead. This one is not."""
    return random_model("maddpg", 2)


@pytest.fixture(scope="module")
def target() -> MADDPGModel:
    """Its actor always prefers action 2, so much that chance does not matter."""
    model = random_model("maddpg", 1)
    return eqx.tree_at(lambda m: m.actor.layers[-1].bias, model, jnp.array([0.0, 0, 1000, 0]))


def test_a_draw_is_one_hot_and_as_frequent_as_the_softmax_says():
    logits = jnp.log(jnp.array([0.1, 0.2, 0.3, 0.4]))
    drawn = jax.jit(gumbel_softmax)(random.key(0), jnp.broadcast_to(logits, (20_000, 4)))
    np.testing.assert_allclose(np.sort(drawn, -1), [[0, 0, 0, 1]] * len(drawn), atol=1e-6)
    np.testing.assert_allclose(drawn.mean(0), [0.1, 0.2, 0.3, 0.4], atol=0.02)


def test_a_draw_has_the_slope_of_the_softmax_it_came_from():
    logits, worth, key = jnp.array([0.5, -0.5, 1.0]), jnp.array([1.0, 2.0, 4.0]), random.key(3)
    slope = jax.grad(lambda x: gumbel_softmax(key, x) @ worth)(logits)
    noise = -np.log(-np.log(np.asarray(jax.random.uniform(random.key(3), (3,), minval=1e-7))))
    p = np.exp(np.asarray(logits) + noise)
    p /= p.sum()
    np.testing.assert_allclose(slope, p * (np.asarray(worth) - p @ np.asarray(worth)), atol=1e-5)
    assert np.abs(slope).max() > 1e-2


def test_the_viewer_is_first_and_the_others_are_rotated_through_all_other_entries():
    model = eqx.filter_eval_shape(dataclasses.replace(LEARNER, max_agents=5).init, jax.random.key(0), SPEC).model
    rows = jnp.array([[1.0], [2.0], [3.0]])
    rotations = (np.arange(8) + 0.5) / 8
    lists = np.asarray(jax.vmap(lambda rotation: model.arrange(rows, rotation, -1.0))(jnp.asarray(rotations)))
    assert (lists[:, 0] == 1).all()
    assert (np.sort(lists[:, 1:]) == [-1, -1, 2, 3]).all()
    for other in (2, 3):
        assert ((lists[:, 1:] == other).sum(0) == 2).all()


def view_of(agents, visible):
    obs = Observation(agents, jnp.ones(3), visible, jnp.ones(4, bool))
    return View(obs, jnp.ones((), bool), visible, jnp.asarray(-1))


def test_a_team_that_is_too_large_is_refused_in_one_sentence(model):
    policy = LEARNER.frozen(model)
    with pytest.raises(UserError, match=r"at most 2 agents and the team has room for 3.*--algorithm.max-agents 3"):
        policy.decide(random.key(0), policy.start(3), view_of(jnp.zeros((3, 2)), jnp.ones(3, bool)))
    with pytest.raises(UserError, match="set max_agents"):
        MADDPG().init(random.key(0), SPEC)


def test_a_policy_ignores_the_rows_of_the_absent_and_draws_from_what_it_explains(model):
    policy = LEARNER.frozen(model)
    decide = jax.jit(jax.vmap(lambda key, view: policy.decide(key, policy.start(2), view), (0, None)))

    def decisions(row: float, there: bool):
        keys = jax.random.split(random.key(0), 2000)
        return decide(keys, view_of(jnp.array([[1.0, -1.0], [row, row]]), jnp.array([True, there])))

    absent, present = decisions(3.0, False), decisions(3.0, True)
    assert (absent.action == decisions(-5.0, False).action).all()
    assert (present.action != decisions(-5.0, True).action).any()
    probabilities = present.explanation.probabilities.mean(0)
    np.testing.assert_allclose(np.bincount(present.action, minlength=4) / 2000, probabilities, atol=0.04)


@pytest.fixture(scope="module")
def losses(target):
    return slope_of("maddpg", target)


def test_the_critic_learns_towards_the_rule_written_out_in_python(model, target, losses):
    batch = some_teams(batch=40)
    here, there = np.asarray(batch.before.exists), np.asarray(batch.after.exists)

    @jax.jit
    def criticise(critic, own, shared, actions):
        return critic(own, shared, actions)[..., 0]

    def inputs(side, exists, actions) -> tuple:
        """For each slot of each team: both rows, itself first, and both actions likewise."""
        rows = np.where(exists[..., None], side.own, -1)
        acts = np.eye(SPEC.actions)[actions] * exists[..., None]
        order = np.array([[0, 1], [1, 0]])
        flat = (rows[:, order].reshape(len(rows), SLOTS, -1), side.shared, acts[:, order].reshape(len(rows), SLOTS, -1))
        return tuple(jnp.asarray(part, jnp.float32) for part in flat)

    value = criticise(model.critic, *inputs(batch.before, here, np.asarray(batch.action)))
    following = criticise(target.critic, *inputs(batch.after, there, np.full(there.shape, 2)))
    y = np.asarray(batch.reward) + 0.9 * np.asarray(batch.discount) * np.asarray(batch.stays) * np.asarray(following)
    (_, metrics), _ = losses(model, batch)
    np.testing.assert_allclose(metrics["value_loss"], ((np.asarray(value) - y) ** 2)[here].mean(), rtol=1e-4)
    np.testing.assert_allclose(metrics["action_value"], np.asarray(value)[here].mean(), rtol=1e-4)


def test_the_actor_learns_from_the_critic_only_and_the_critic_not_from_the_actor(model, losses):
    batch = some_teams(batch=40)
    _, plain = losses(model, batch)
    assert not equal(plain.actor, jax.tree.map(jnp.zeros_like, plain.actor))
    _, richer = losses(model, eqx.tree_at(lambda b: b.reward, batch, batch.reward + 5))
    assert equal(plain.actor, richer.actor)
    assert not equal(plain.critic, richer.critic)
    indifferent = eqx.tree_at(lambda m: m.actor, model, jax.tree.map(jnp.zeros_like, model.actor))
    _, elsewhere = losses(indifferent, batch)
    assert equal(plain.critic, elsewhere.critic)


SEPARATE = dataclasses.replace(LEARNER, separate=SLOTS)


@pytest.fixture(scope="module")
def separate() -> MADDPGModel:
    return eqx.filter_jit(SEPARATE.init)(random.key(0), SPEC).model


def test_separate_agents_have_networks_of_their_own(separate):
    rng = np.random.default_rng(0)
    team, shared = (jnp.asarray(rng.normal(size=(3, SLOTS, size)), jnp.float32) for size in (4, 3))
    logits = separate.logits(team, shared)
    for slot in range(SLOTS):
        alone = separate.of_agent(slot).actor(team[:, slot], shared[:, slot])
        np.testing.assert_allclose(logits[:, slot], alone, atol=1e-5)
    assert np.abs(separate.logits(team[:, ::-1], shared[:, ::-1])[:, ::-1] - logits).max() > 1e-2
    policy = SEPARATE.policy(separate, jnp.zeros(()))
    assert eqx.tree_equal(policy.in_slot(jnp.asarray(0)).model, SEPARATE.frozen(separate).model)
    assert not eqx.tree_equal(policy.in_slot(jnp.asarray(1)).model, SEPARATE.frozen(separate).model)


def test_separate_agents_learn_from_their_own_transitions(separate):
    slope = jax.jit(jax.grad(lambda model, batch: SEPARATE.loss(random.key(5), model, separate, batch)[0]))
    batch = some_teams(batch=40)
    plain = slope(separate, batch)
    richer = slope(separate, eqx.tree_at(lambda b: b.reward, batch, batch.reward.at[:, 1].add(5.0)))
    assert equal(plain.of_agent(0), richer.of_agent(0))
    assert not equal(plain.of_agent(1).critic, richer.of_agent(1).critic)


def test_only_the_trained_side_counts_and_is_told_of_the_other(model, target):
    learner = dataclasses.replace(LEARNER, sides=Sides(2, see_own=False))
    loss = jax.jit(lambda batch: learner.loss(random.key(5), model, target, batch)[0])
    batch = some_teams(batch=40)
    plain = loss(batch)
    parts = {"reward": lambda b: b.reward, "place": lambda b: b.before.own, "action": lambda b: b.action}
    for part, slot, counts in (("reward", 0, True), ("reward", 1, False), ("place", 1, True), ("action", 1, False)):
        old = parts[part](batch)
        changed = eqx.tree_at(parts[part], batch, old.at[:, slot].set((old[:, slot] + 1) % 4))
        assert (loss(changed) != plain) == counts, (part, slot)


def test_networks_for_another_number_of_agents_than_the_task_has_are_refused(separate):
    with pytest.raises(UserError, match=r"of their own for 2 agents and the task has 3 slots.*--algorithm.separate 3"):
        SEPARATE.context(TrainState(separate, separate, (), jnp.zeros((), jnp.int32)), 3)


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(UserError, match="MADDPG's max_agents must be positive"):
        MADDPG(max_agents=0)
