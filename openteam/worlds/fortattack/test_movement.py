"""Bodies: thrust, drag, contact, walls and turning."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.worlds.fortattack import Arena, Movement
from openteam.worlds.fortattack.state import ACTION_NAMES, EAST, NONE, NORTH, SHOOT, TURN_LEFT, TURN_RIGHT

ARENA, MOVEMENT = Arena(), Movement()


@eqx.filter_jit
def push(position, velocity, actions, moving):
    return MOVEMENT.move(ARENA, position, velocity, actions, moving)


def move(*position, velocity=None, actions=None, moving=None):
    """Positions and velocities one step later, as numpy."""
    position, everyone = jnp.array(position, jnp.float32), len(position)
    velocity = jnp.zeros((everyone, 2)) if velocity is None else jnp.array(velocity, jnp.float32)
    actions = jnp.array([NONE] * everyone if actions is None else actions)
    moving = jnp.array([True] * everyone if moving is None else moving)
    return tuple(np.asarray(part) for part in push(position, velocity, actions, moving))


@pytest.mark.parametrize(("action", "way"), [(1, (1, 0)), (2, (-1, 0)), (3, (0, 1)), (4, (0, -1))])
def test_an_agent_is_pushed_where_it_wants(action, way):
    position, velocity = move((0.2, 0.1), actions=[action])
    np.testing.assert_allclose(velocity, [0.3 * np.array(way)], atol=1e-6)
    np.testing.assert_allclose(position, [np.array([0.2, 0.1]) + 0.03 * np.array(way)], atol=1e-6)


@pytest.mark.parametrize("action", [NONE, TURN_LEFT, TURN_RIGHT, SHOOT])
def test_who_does_not_move_keeps_three_quarters_of_its_velocity(action):
    position, velocity = move((0.0, 0.0), velocity=[(0.4, -0.8)], actions=[action])
    np.testing.assert_allclose(velocity, [(0.3, -0.6)], atol=1e-6)
    np.testing.assert_allclose(position, [(0.03, -0.06)], atol=1e-6)


def test_ones_own_force_leads_to_a_speed_of_1_2():
    velocity = [(0.0, 0.0)]
    for _ in range(60):
        _, velocity = move((0.0, 0.0), velocity=velocity, actions=[NORTH])
    np.testing.assert_allclose(velocity, [(0.0, 1.2)], atol=1e-4)


def test_bodies_that_overlap_push_each_other_apart():
    position, velocity = move((0.0, 0.0), (0.08, 0.0))
    np.testing.assert_allclose(velocity, [(-0.2, 0.0), (0.2, 0.0)], atol=1e-5)  # 100 per overlap of 0.02, for 0.1
    assert position[1, 0] - position[0, 0] == pytest.approx(0.12, abs=1e-5)


def test_contact_pushes_along_the_line_between_centres():
    _, velocity = move((0.0, 0.0), (0.03, 0.04))
    np.testing.assert_allclose(velocity, [(-0.3, -0.4), (0.3, 0.4)], atol=1e-5)


def test_bodies_that_only_touch_do_not_push():
    _, velocity = move((0.0, 0.0), (0.1, 0.0), (0.0, 0.2))
    np.testing.assert_allclose(velocity, np.zeros((3, 2)), atol=1e-5)


def test_contact_forces_add_up():
    _, velocity = move((0.0, 0.0), (0.08, 0.0), (0.0, 0.09), (-0.08, 0.0))
    np.testing.assert_allclose(velocity[0], (0.0, -0.1), atol=1e-5)


def test_bodies_in_one_place_stay_finite():
    position, velocity = move((0.1, 0.1), (0.1, 0.1))
    np.testing.assert_allclose(position, [(0.1, 0.1)] * 2)
    np.testing.assert_allclose(velocity, 0)


def test_who_is_not_there_neither_moves_nor_pushes():
    position, velocity = move((0.0, 0.0), (0.05, 0.0), velocity=[(0.0, 0.0), (1.0, 0.0)], actions=[NONE, EAST],
                              moving=[True, False])  # fmt: skip
    np.testing.assert_allclose(position, [(0.0, 0.0), (0.05, 0.0)])
    np.testing.assert_allclose(velocity, 0)


@pytest.mark.parametrize(
    ("at", "pushed"),
    [
        ((0.97, 0.0), (-0.2, 0.0)),  # the body reaches 0.02 into the eastern wall
        ((-0.97, 0.0), (0.2, 0.0)),
        ((0.0, 0.87), (0.0, -0.2)),
        ((0.0, -0.87), (0.0, 0.2)),
        ((0.97, 0.87), (-0.2, -0.2)),
        ((0.94, 0.84), (0.0, 0.0)),
    ],
)
def test_walls_push_back_as_much_as_a_body_reaches_into_them(at, pushed):
    _, velocity = move(at)
    np.testing.assert_allclose(velocity, [pushed], atol=1e-4)


def test_nobody_gets_through_a_wall():
    position, velocity = np.array([[0.0, 0.0]]), np.zeros((1, 2))
    farthest = 0.0
    for _ in range(100):
        position, velocity = move(*position.tolist(), velocity=velocity, actions=[EAST])
        farthest = max(farthest, position[0, 0])
    assert 0.95 < farthest < 0.95 + 0.12  # the last step before the wall pushes back
    assert position[0, 0] == pytest.approx(0.98, abs=1e-3)  # leaning into the wall: 3 = 100 * 0.03


def test_nobody_is_pushed_beyond_the_top_speed():
    crowd = [(0.0, 0.0), *((0.02, 0.004 * n) for n in range(-2, 3))]
    _, velocity = move(*crowd)
    assert np.hypot(*velocity[0]) == pytest.approx(3.0, abs=1e-4)
    assert velocity[0, 0] < -2.9


rotate = eqx.filter_jit(lambda movement, angle, action: movement.rotate(jnp.array([angle]), jnp.array([action]))[0])


@pytest.mark.parametrize("released", [False, True])
def test_a_turn_left_adds_and_only_turns_turn(released):
    movement = Movement(wrap_angle=not released)
    assert rotate(movement, 1.0, TURN_LEFT) == pytest.approx(1.17)
    for action in set(range(len(ACTION_NAMES))) - {TURN_LEFT, TURN_RIGHT}:
        assert rotate(movement, 1.0, action) == 1.0


def test_angles_stay_between_0_and_a_whole_turn():
    assert rotate(MOVEMENT, 1.0, TURN_RIGHT) == pytest.approx(0.83)
    assert rotate(MOVEMENT, 0.1, TURN_RIGHT) == pytest.approx(2 * math.pi - 0.07)
    assert rotate(MOVEMENT, 6.2, TURN_LEFT) == pytest.approx(6.37 - 2 * math.pi, abs=1e-5)


def test_in_the_released_code_a_turn_right_adds_nearly_a_whole_turn():
    assert rotate(Movement(wrap_angle=False), 1.0, TURN_RIGHT) == pytest.approx(2 * math.pi + 0.83)


def test_both_ways_of_counting_face_the_same_way():
    wrapped, grown = 4.0, 4.0
    for action in [TURN_RIGHT] * 70 + [TURN_LEFT] * 30:
        wrapped, grown = rotate(MOVEMENT, wrapped, action), rotate(Movement(wrap_angle=False), grown, action)
    assert grown > 400
    assert math.cos(wrapped) == pytest.approx(math.cos(grown), abs=1e-3)
    assert math.sin(wrapped) == pytest.approx(math.sin(grown), abs=1e-3)
