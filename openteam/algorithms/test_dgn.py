"""DGN: who is attended to, what it learns towards, and how attention may change."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.algorithms.dgn import DGN, DGNModel, relation_change, team_values
from openteam.algorithms.replay import AgentState
from openteam.algorithms.test_replay import SLOTS, some_teams
from openteam.algorithms.test_replay_learners import LEARNERS, random_model, slope_of
from openteam.core import random
from openteam.core.sides import Sides
from openteam.core.types import Observation, View
from openteam.core.view import viewer_first
from openteam.errors import UserError


@pytest.fixture(scope="module")
def model() -> DGNModel:
    return random_model("dgn", 0)


@pytest.fixture(scope="module")
def target() -> DGNModel:
    return random_model("dgn", 1)


evaluate = eqx.filter_jit(lambda model, *team: model(*team))


def a_team(slots: int, seed: int = 0) -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.normal(size=(slots, 2)), jnp.float32), jnp.asarray(rng.normal(size=3), jnp.float32)


def test_whoever_is_absent_changes_nothing_and_whoever_is_there_does(model):
    own, shared = a_team(5)
    noise, _ = a_team(5, seed=1)
    here = jnp.array([True, False, True, True, False])
    values, attention = evaluate(model, own, shared, here)
    other_values, other_attention = evaluate(model, jnp.where(here[:, None], own, noise), shared, here)
    np.testing.assert_allclose(other_values[here], values[here], atol=1e-6)
    np.testing.assert_allclose(other_attention[:, here], attention[:, here], atol=1e-6)
    assert (attention[:, here][..., ~here] == 0).all()
    np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-6)
    third = own.at[2].set(noise[2])
    assert np.abs(evaluate(model, third, shared, here)[0][0] - values[0]).max() > 1e-3


def test_the_order_of_agents_does_not_matter(model):
    own, shared = a_team(5)
    here, order = jnp.array([True, False, True, True, False]), jnp.array([3, 0, 4, 1, 2])
    values, attention = evaluate(model, own, shared, here)
    permuted, permuted_attention = evaluate(model, own[order], shared, here[order])
    np.testing.assert_allclose(permuted[here[order]], values[order][here[order]], atol=1e-5)
    there = here[order]
    np.testing.assert_allclose(permuted_attention[:, there], attention[:, order][..., order][:, there], atol=1e-5)


def test_an_agent_alone_attends_to_itself_only(model):
    own, shared = a_team(5)
    _, attention = evaluate(model, own, shared, jnp.arange(5) == 2)
    np.testing.assert_array_equal(attention[:, 2], [[0, 0, 1, 0, 0]] * 2)


def test_whoever_acts_has_the_values_that_updates_have(model):
    team = jax.tree.map(lambda leaf: leaf[:1], some_teams().before)
    team = dataclasses.replace(team, shared=team.shared[:, :1].repeat(SLOTS, 1), exists=jnp.ones((1, SLOTS), bool))
    values, _ = jax.jit(team_values)(model, team)
    policy = LEARNERS["dgn"].frozen(model)
    decide = jax.jit(lambda key, view: policy.decide(key, policy.start(SLOTS), view))
    for slot in range(SLOTS):
        rows = viewer_first(team.own[0], jnp.asarray(slot))
        obs = Observation(rows, team.shared[0, 0], team.exists[0], team.legal[0, slot])
        decision = decide(random.key(slot), View(obs, jnp.ones((), bool), obs.visible, jnp.asarray(-1)))
        np.testing.assert_allclose(decision.explanation.action_values, values[0, slot], atol=1e-5)
        assert decision.action == values[0, slot].argmax()
        assert decision.explanation.probabilities[decision.action] == 1


def test_an_agent_that_sees_the_other_side_only_does_not_know_of_its_own(model):
    sides = Sides(2, see_own=False)
    policy = dataclasses.replace(LEARNERS["dgn"], sides=sides).frozen(model)
    values = jax.jit(lambda own: team_values(model, AgentState(own[None], shared[None], here, legal), sides)[0][0])
    act = jax.jit(lambda rows: policy.action_values(Observation(rows, shared[0], here[0], legal[0, 0])))
    (own, one_shared), here, legal = a_team(4), jnp.ones((1, 4), bool), jnp.ones((1, 4, 4), bool)
    shared = jnp.tile(one_shared, (4, 1))
    plain = values(own)
    for slot in (0, 1):
        np.testing.assert_allclose(act(viewer_first(own, jnp.asarray(slot))), plain[slot], atol=1e-5)
    changed = [np.abs(values(own.at[slot].add(1.0)) - plain).max(-1) > 1e-3 for slot in range(4)]
    assert [row.tolist() for row in changed] == [
        [True, False, True, True], [False, True, True, True], [True, True, True, False], [True, True, False, True],
    ]  # fmt: skip


def test_only_the_trained_side_counts(model, target):
    learner = dataclasses.replace(LEARNERS["dgn"], sides=Sides(2, see_own=False))
    losses = jax.jit(lambda batch: learner.loss(model, target, batch)[0])
    batch = some_teams(batch=40)
    plain = losses(batch)
    for slot, counts in ((0, True), (1, False)):
        richer = dataclasses.replace(batch, reward=batch.reward.at[:, slot].add(5.0))
        assert (losses(richer) != plain) == counts


EVEN = jnp.full((2, 3, 3), 1 / 3)
SHARP = jnp.array([[[0.5, 0.25, 0.25]] * 3, [[0.2, 0.2, 0.6]] * 3])
ALL = jnp.ones(3, bool)
change = jax.jit(relation_change)


def test_attention_that_stays_the_same_costs_nothing():
    np.testing.assert_allclose(change(SHARP, SHARP, ALL), 0, atol=1e-7)
    assert (change(EVEN, SHARP, ALL) > 0.05).all()


def test_the_divergence_is_that_of_the_next_attention_from_the_present_one():
    after = np.asarray(SHARP[:, 0])
    expected = np.mean([(p * np.log(p * 3)).sum() for p in after])
    np.testing.assert_allclose(change(EVEN, SHARP, ALL), expected, atol=1e-6)


def test_only_attention_to_those_who_stay_is_compared():
    stays = jnp.array([True, True, False])
    moved = np.asarray(change(EVEN, SHARP, stays))
    shares = np.array([2 / 3, 1 / 3])  # head 0; in head 1 both who stay are attended to alike
    np.testing.assert_allclose(moved[:2], (shares * np.log(shares * 2)).sum() / 2, atol=1e-6)
    assert moved[2] == 0


def test_the_next_attention_is_a_constant_and_a_newcomer_breaks_nothing():
    newcomer = jnp.array([True, True, False])  # not attended to now, by all afterwards
    now = EVEN.at[..., 2].set(0).at[..., :2].set(0.5)
    slope = jax.jit(jax.grad(lambda *pair: relation_change(*pair, newcomer).sum(), (0, 1)))
    to_now, to_after = slope(now, SHARP)
    assert (to_after == 0).all()
    assert np.isfinite(to_now).all()
    assert np.abs(to_now).max() > 0.01


@pytest.fixture(scope="module")
def losses(target):
    return slope_of("dgn", target)


def test_targets_follow_the_rule_written_out_in_python(model, target, losses):
    batch = some_teams(batch=40)
    values, next_values = (
        np.asarray(jax.jit(team_values)(*pair)[0]) for pair in ((model, batch.before), (target, batch.after))
    )
    errors = []
    for team in range(len(values)):
        for slot in range(SLOTS):
            if batch.before.exists[team, slot]:
                y = float(batch.reward[team, slot])
                if batch.stays[team, slot]:
                    y += 0.9 * float(batch.discount[team, slot]) * next_values[team, slot].max()
                errors.append(y - values[team, slot, int(batch.action[team, slot])])
    (total, metrics), _ = losses(model, batch)
    np.testing.assert_allclose(metrics["value_loss"], np.mean(np.square(errors)), rtol=1e-4)
    np.testing.assert_allclose(total, metrics["value_loss"] + 0.03 * metrics["relation_loss"], rtol=1e-5)
    assert metrics["relation_loss"] > 0


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(UserError, match="heads must be positive"):
        DGN(heads=0)
