"""FortAttack as a whole: order within a step, its end, entries, features and the contract."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.random import key as make_key
from openteam.errors import UserError
from openteam.testing import check_world
from openteam.worlds.fortattack import Arena, FortAttack
from openteam.worlds.fortattack.situation import situation
from openteam.worlds.fortattack.state import EAST, NONE, NORTH, SHOOT, TURN_LEFT

WORLD = FortAttack()
STEP = eqx.filter_jit(FortAttack.step)
GUARD, ATTACKER = (-0.6, 0.5, 270), (0.6, -0.5, 90)  # out of everybody's way


def play(state, *actions, world=WORLD):
    """The next state, rewards and whether the task is over; agents without an action do nothing."""
    actions = jnp.array([*actions, *[NONE] * (len(state.present) - len(actions))])
    after, reward, over = STEP(world, jax.random.key(0), state, actions)
    return after, np.asarray(reward, float).round(5).tolist(), bool(over)


def test_it_keeps_the_contract_of_worlds():
    check_world(WORLD, slots=(2, 6))


def test_shots_are_fired_from_where_everybody_stood_before_moving():
    edge = 0.05 + 0.8 * math.cos(math.pi / 8)
    leaving = eqx.tree_at(
        lambda s: s.velocity, situation([(0, 0, 0)], [(edge - 0.01, 0, 0)]), jnp.array([[0.0, 0.0], [1.0, 0.0]])
    )
    assert play(leaving, SHOOT, EAST)[0].out_for[1] > 0
    coming = eqx.tree_at(
        lambda s: s.velocity, situation([(0, 0, 0)], [(edge + 0.01, 0, 0)]), jnp.array([[0.0, 0.0], [-1.0, 0.0]])
    )
    assert play(coming, SHOOT)[0].out_for[1] == 0


def test_who_is_hit_does_not_move_anymore():
    state = situation([(0, 0, 0)], [(0.3, 0, 180)])
    after, _, _ = play(state, SHOOT, NORTH)
    assert after.position[1].tolist() == state.position[1].tolist()
    assert after.velocity[1].tolist() == [0, 0]


def test_who_is_hit_in_the_same_step_still_shoots():
    after, reward, _ = play(situation([(0, 0, 0)], [(0.3, 0, 180)]), SHOOT, SHOOT)
    assert after.out_for.tolist() == [61, 61]
    assert reward == [0, 0]  # hit and was hit


def test_the_time_out_is_counted_down_by_the_world():
    after, _, _ = play(situation([(0, 0, 0), GUARD], [(0.3, 0, 180), ATTACKER]), SHOOT)
    away = WORLD.dismiss(after, after.out_for > 0)
    assert away.present.tolist() == [True, True, False, True]
    for left in range(60, 57, -1):
        away, _, _ = play(away)
        assert away.out_for.tolist() == [0, 0, left, 0]


def test_an_attacker_at_the_fort_ends_the_game():
    near, far = situation([GUARD], [(0.0, 0.76, 90)]), situation([GUARD], [(0.0, 0.74, 90)])
    assert play(near)[1:] == ([-1, 1], True)
    assert play(far)[1:] == ([0, 0], False)
    assert play(far, NONE, NORTH)[1:] == ([-1, 1], True)  # it moves by 0.03 and is there


def test_a_guard_at_the_fort_ends_nothing():
    assert play(situation([(0.0, 0.8, 90)], [ATTACKER]))[1:] == ([0, 0], False)


def test_an_attacker_that_is_hit_at_the_gate_has_not_reached_the_fort():
    state = situation([(0.0, 0.5, 90)], [(0.0, 0.74, 90)])
    assert play(state, SHOOT, NORTH)[1:] == ([0.3, -0.3], False)


def test_the_game_ends_when_the_learner_is_hit():
    state = situation([(0, 0, 90), GUARD], [(0.3, 0, 180), ATTACKER])
    assert play(state, NONE, NONE, SHOOT)[1:] == ([-0.3, 0, 0.3, 0], True)


def test_the_game_goes_on_when_another_guard_is_hit():
    state = situation([GUARD, (0, 0, 90)], [(0.3, 0, 180), ATTACKER])
    assert play(state, NONE, NONE, SHOOT)[1:] == ([0, -0.3, 0.3, 0], False)


def test_in_joint_training_the_game_goes_on_without_slot_0():
    state = situation([(0, 0, 90), GUARD], [(0.3, 0, 180), ATTACKER])
    assert not play(state, NONE, NONE, SHOOT, world=FortAttack(learner_hit_ends=False))[2]


def test_holding_the_fort_for_100_steps_ends_the_game_and_pays():
    assert play(situation([GUARD], [ATTACKER], clock=98))[1:] == ([0, 0], False)
    assert play(situation([GUARD], [ATTACKER], clock=99))[1:] == ([1, -1], True)


def test_who_loses_the_fort_in_the_last_step_has_not_held_it():
    assert play(situation([GUARD], [(0.0, 0.8, 90)], clock=99))[1:] == ([-1, 1], True)


def test_a_hit_in_the_last_step_is_added_to_the_bonus():
    state = situation([(0, 0, 0)], [(0.3, 0, 90)], clock=99)
    assert play(state, SHOOT)[1:] == ([1.3, -1.3], True)


def test_absent_agents_get_nothing():
    state = situation([GUARD, None], [ATTACKER, None], clock=99)
    assert play(state)[1] == [1, 0, -1, 0]


def test_actions_of_absent_agents_do_nothing():
    state = situation([GUARD, None], [(0.3, 0, 180), None])
    after, reward, _ = play(state, NONE, SHOOT, NONE, TURN_LEFT)
    assert not after.shot.any()
    assert reward == [0, 0, 0, 0]


@pytest.fixture(scope="module")
def starts():
    world = FortAttack(arena=Arena(half_height=0.8))
    keys = jax.random.split(make_key(1), 500)
    return jax.jit(jax.vmap(lambda key: world.start(key, jnp.ones(6, bool))))(keys)


def spread(values):
    """Lowest and highest of many draws."""
    return pytest.approx([float(np.min(values)), float(np.max(values))], abs=0.02)


def test_guards_enter_before_the_door_facing_south(starts):
    guards = np.asarray(starts.position[:, :3])
    assert spread(guards[..., 0]) == [-0.06, 0.06]
    assert spread(guards[..., 1]) == [0.64, 0.8]
    assert np.allclose(starts.angle[:, :3], 1.5 * np.pi)


def test_attackers_enter_along_the_southern_wall_facing_north(starts):
    attackers = np.asarray(starts.position[:, 3:])
    assert spread(attackers[..., 0]) == [-1, 1]
    assert spread(attackers[..., 1]) == [-0.8, -0.64]
    assert np.allclose(starts.angle[:, 3:], 0.5 * np.pi)


def test_entrances_are_at_the_walls_of_any_arena():
    y = Arena().enter(jnp.asarray(np.random.default_rng(0).random((2, 100)), jnp.float32))[:, 1]
    assert spread(y[:50]) == [0.72, 0.9]
    assert spread(y[50:]) == [-0.9, -0.72]


def test_who_comes_back_enters_like_at_the_start_and_others_stay_as_they_are():
    state = situation([(0.5, 0, 90), None], [(0.3, 0, 10), None])
    state = eqx.tree_at(lambda s: (s.velocity, s.out_for), state, (jnp.ones((4, 2)), jnp.array([0, 3, 0, 3])))
    after = eqx.filter_jit(WORLD.admit)(make_key(0), state, ~state.present)
    assert after.present.all()
    assert after.out_for.tolist() == [0, 0, 0, 0]
    assert after.velocity.tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]
    np.testing.assert_allclose(after.position[::2], state.position[::2])
    np.testing.assert_allclose(after.angle, [np.pi / 2, 1.5 * np.pi, np.pi / 18, np.pi / 2], atol=1e-6)
    assert abs(after.position[1, 0]) <= 0.06
    assert after.position[1, 1] >= 0.72
    assert after.position[3, 1] <= -0.72


def test_features_are_pose_velocity_and_role():
    state = situation([(0.5, 0.25, 90), None], [(-0.5, -0.25, 0), None])
    state = eqx.tree_at(lambda s: s.velocity, state, jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]))
    agents, shared = WORLD.features(state)
    nobody = [0] * 7
    expected = [[0.5, 0.25, math.pi / 2, 1, 2, 1, 0], nobody, [-0.5, -0.25, 0, 5, 6, 0, 1], nobody]
    np.testing.assert_allclose(agents, expected, atol=1e-6)
    assert shared.shape == (0,)


def test_every_action_is_always_legal():
    assert WORLD.legal(situation([GUARD], [None])).all()


@pytest.mark.parametrize("slots", [0, 1, 5])
def test_teams_of_different_size_are_refused(slots):
    with pytest.raises(UserError, match=f"two teams of equal size; got {slots} slots"):
        WORLD.check(slots)


def test_a_game_without_steps_is_refused():
    with pytest.raises(UserError, match="at least 1 step; got steps 0"):
        FortAttack(steps=0).check(6)


def test_a_situation_with_different_teams_is_refused():
    with pytest.raises(UserError, match="got 1 guards and 2 attackers"):
        situation([GUARD], [ATTACKER, None])
