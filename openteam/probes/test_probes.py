"""The probes' rules, and their known values against an exhaustive search of every game."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core import random
from openteam.core.types import first_view
from openteam.errors import UserError
from openteam.probes import PROBES, Constant, ConstantPolicies, Match, Probe, ProbeState
from openteam.views import FullView

G = 0.5
HERE = jnp.array([True, True])


@eqx.filter_jit
def step(world: Probe, now: ProbeState, actions: jax.Array, joining: jax.Array) -> tuple:
    after, rewards, terminal = world.step(random.key(0), now, actions)
    return world.admit(random.key(0), after, joining), rewards, terminal


def state(present=(True, True), lamp=False, last=(-1, -1), left=1) -> ProbeState:
    return ProbeState(jnp.array(present), jnp.array(lamp), jnp.array(last), jnp.array(left))


def search(world: Probe, now: ProbeState, wait: int, types: tuple[int, ...]) -> np.ndarray:
    """Q* by trying everything, for a learner who knows only that the teammate is one of ``types``."""
    there = bool(now.present[1])
    possible = types if there else (0,)  # whoever is away acts for nothing and shows nothing
    values = np.zeros(2)
    for action, kind in itertools.product(range(2), possible):
        after, rewards, terminal = step(world, now, np.array([action, kind]), np.array([False, wait == 1]))
        known = (kind,) if there else types
        future = 0 if terminal else search(world, after, wait - 1, known).max()
        values[action] += (float(rewards[0]) + G * future) / len(possible)
    return values


@pytest.mark.parametrize("name", PROBES)
def test_known_values_equal_exhaustive_search(name):
    task = PROBES[name]()
    world, wait = task.world, task.openness.after
    opening = state((True, wait == 0), lamp=True, left=world.length)
    np.testing.assert_allclose(world.payoff.values(opening, G), search(world, opening, wait, (0, 1)), atol=1e-6)
    for kind in range(2):
        later = state(lamp=True, last=(0, kind), left=max(world.length - 1, 1))
        np.testing.assert_allclose(world.payoff.values(later, G), search(world, later, 0, (kind,)), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "now", "expected"),
    [
        ("constant", state(), [1, 1]),
        ("lamp", state(lamp=True), [1, 1]),
        ("lamp", state(lamp=False), [0, 0]),
        ("delayed", state(left=4), [0.125, 0.125]),
        ("delayed", state(left=1), [1, 1]),
        ("own_action", state(), [0, 1]),
        ("teammate_action", state(left=2), [0.75, 0.75]),
        ("teammate_action", state(last=(0, 1), left=1), [1, 1]),
        ("match", state(left=3), [1.25, 1.25]),
        ("match", state(last=(1, 0), left=2), [1.5, 0.5]),
        ("match", state(last=(1, 1), left=1), [0, 1]),
        ("teammate_joins", state(present=(True, False), left=3), [1.75, 0.75]),
        ("teammate_joins", state(left=2), [0.5, 1.5]),
    ],
)
def test_known_values_at_discount_one_half(name, now, expected):
    np.testing.assert_allclose(PROBES[name]().world.payoff.values(now, G), expected, atol=1e-6)


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_keeps_the_contract_of_worlds_and_ends_after_its_length(name):
    task = PROBES[name]()
    world, now = task.world, task.world.start(random.key(0), HERE)
    for steps in range(1, world.length + 1):
        now, rewards, terminal = world.step(random.key(1), now, jnp.array([0, 1]))
        agents, shared = world.features(now)
        assert rewards.shape == (2,)
        assert agents.shape == (2, task.spec.agent_features)
        assert shared.shape == (task.spec.shared_features,)
        assert world.legal(now).all()
        assert bool(terminal) == (steps == world.length)


@pytest.mark.parametrize(
    ("name", "expected"),
    # Rows: a learner who always does 0, always 1. Columns: a teammate who always does 0, always 1.
    [
        ("match", [[3, 0], [0, 3]]),
        ("teammate_joins", [[2, 2], [2, 2]]),
    ],
)
def test_returns_when_nobody_changes_its_action(name, expected):
    task = PROBES[name]()

    def play(learner, teammate):
        env, _ = task.reset(random.key(0))
        env = eqx.tree_at(lambda e: e.type_ids, env, jnp.full(2, teammate))

        def one(env, key):
            env, timestep, _ = task.step(key, env, learner)
            # A type is drawn at every entry; here all are the one that is asked for.
            return eqx.tree_at(lambda e: e.type_ids, env, jnp.full(2, teammate)), timestep

        return jax.lax.scan(one, env, jax.random.split(random.key(1), task.world.length))[1]

    played = jax.jit(jax.vmap(jax.vmap(play, (None, 0)), (0, None)))(jnp.arange(2), jnp.arange(2))
    np.testing.assert_array_equal(played.reward.sum(-1), expected)
    assert played.ends[..., -1].all()
    assert not played.ends[..., :-1].any()
    np.testing.assert_array_equal(played.discount, 1 - played.ends)


def test_the_lamp_is_lit_in_half_of_the_episodes():
    keys = jax.random.split(random.key(0), 2000)
    lit = jax.vmap(lambda key: Probe(Constant()).start(key, HERE).lamp)(keys)
    assert abs(lit.mean() - 0.5) < 0.05


def test_actions_can_be_shown_only_after_the_first_step():
    now, seen = state(last=(0, 1), left=2), [[1, 0, 0], [0, 1, 1]]
    once, always = Probe(Match(), 3, show_actions_once=True), Probe(Match(), 3)
    later = state(last=(0, 1), left=1)
    np.testing.assert_array_equal(once.features(now)[0], seen)
    np.testing.assert_array_equal(once.features(later)[0], [[0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(always.features(later)[0], seen)


def test_nothing_is_known_of_a_newcomer_or_of_an_empty_slot():
    world, second = Probe(Match(), 3), jnp.array([False, True])
    gone = world.dismiss(state(last=(0, 1), left=2), second)
    np.testing.assert_array_equal(world.features(gone)[0][1], [0, 0, 0])
    assert not gone.present[1]
    back = world.admit(random.key(0), gone, second)
    np.testing.assert_array_equal(world.features(back)[0][1], [0, 0, 1])
    assert back.present[1]
    alone, _, _ = world.step(random.key(0), gone, jnp.array([1, 1]))
    np.testing.assert_array_equal(alone.last, [1, -1])


def test_a_teammate_joins_after_two_steps_and_is_new_then():
    task = PROBES["teammate_joins"]()
    wait, present = task.openness.start(random.key(0))
    there, joined = [bool(present[1])], []
    for _ in range(3):
        wait, leaving, joining = task.openness.step(random.key(0), wait, state())
        present = (present & ~leaving) | joining
        there.append(bool(present[1]))
        joined.append(bool(joining[1]))
    assert there == [False, False, True, True]
    assert joined == [False, True, False]


def test_stubborn_teammates_never_change_their_action():
    family = ConstantPolicies()
    obs = FullView()(random.key(0), Probe(Match()), state(), jnp.array(1))
    for index, name in enumerate(family.names):
        member = family.member(jnp.asarray(index))
        action, _ = member.act(random.key(0), member.start(2), first_view(obs))
        assert name == f"always-{action}"


def test_a_probe_for_three_agents_is_refused():
    with pytest.raises(UserError, match="got 3 slots"):
        Probe(Constant()).check(3)


def test_an_unknown_stubborn_type_is_refused():
    with pytest.raises(UserError, match="got always-2"):
        ConstantPolicies(("always-2",))
