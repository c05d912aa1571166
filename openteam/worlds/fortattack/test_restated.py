"""The released rules once more, in plain Python with loops: both must tell the same story."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from openteam.core.random import key as make_key
from openteam.worlds.fortattack import Arena, FortAttack, Movement, Shooting, SparseRewards
from openteam.worlds.fortattack.situation import situation

WORLD = FortAttack(
    arena=Arena(half_height=0.8),
    movement=Movement(wrap_angle=False),
    shooting=Shooting(closest=0.0),
    rewards=SparseRewards(outcome=10.0, hit=3.0, shot=0.1),
    learner_hit_ends=False,
)
TEAM, SLOTS, CASES = 4, 8, 300
DOOR = np.array([0.0, 0.8])


class Body:
    """One agent, in double precision."""

    def __init__(self, slot, state):
        self.attacks = slot >= TEAM
        self.there = bool(state.present[slot])
        self.at, self.speed = (np.array(part[slot], float) for part in (state.position, state.velocity))
        self.angle = float(state.angle[slot])

    def covers(self, point):
        """Whether the triangle of a shot holds a point: no barycentric coordinate is negative."""
        corners = [self.at + 0.05 * toward(self.angle)]
        corners += [corners[0] + 0.8 * toward(self.angle + side * math.pi / 8) for side in (-1, 1)]
        weights = np.linalg.solve(np.array([[*corner, 1.0] for corner in corners]).T, [*point, 1.0])
        return (weights >= 0).all()


def toward(angle):
    return np.array([math.cos(angle), math.sin(angle)])


def restated(state, actions):
    """Bodies after a step, rewards, steps out of those who were hit."""
    bodies = [Body(slot, state) for slot in range(SLOTS)]
    blast, scored = np.zeros(SLOTS), [False] * SLOTS
    for j, shooter in enumerate(bodies):
        for k, other in enumerate(bodies):
            opponents = shooter.there and other.there and shooter.attacks != other.attacks
            if opponents and actions[j] == 7 and shooter.covers(other.at):
                blast[k] += 1 - np.linalg.norm(shooter.at - other.at) / 0.95
                scored[j] = True
    alive = [k for k in range(SLOTS) if bodies[k].there and blast[k] == 0]
    forces = {k: 3 * np.array([(actions[k] == 1) - 1 * (actions[k] == 2), (actions[k] == 3) - 1 * (actions[k] == 4)])
              for k in alive}  # fmt: skip
    for k in alive:
        for other in alive:
            gap = bodies[k].at - bodies[other].at
            distance = np.linalg.norm(gap)
            if other != k and distance < 0.1:
                forces[k] = forces[k] + 100 * (0.1 - distance) * gap / distance
        for axis, wall in enumerate((1.0, 0.8)):
            beyond = abs(bodies[k].at[axis]) + 0.05 - wall
            forces[k] = forces[k] - np.eye(2)[axis] * 100 * max(beyond, 0) * np.sign(bodies[k].at[axis])
    for k in alive:
        body = bodies[k]
        body.speed = 0.75 * body.speed + 0.1 * forces[k]
        body.speed = body.speed * min(1, 3 / max(np.linalg.norm(body.speed), 1e-9))
        body.at = body.at + 0.1 * body.speed
        body.angle += {5: 0.17, 6: -0.17 % (2 * math.pi)}.get(int(actions[k]), 0.0)
    reached = any(bodies[k].attacks and np.linalg.norm(bodies[k].at - DOOR) < 0.15 for k in alive)
    rewards = [
        (10 if body.attacks else -10) * reached + 3 * scored[k] - 3 * (blast[k] > 0) - 0.1 * (actions[k] == 7)
        if body.there
        else 0
        for k, body in enumerate(bodies)
    ]
    return bodies, alive, rewards, [int(80 * strength + 1e-3) for strength in blast], reached


@pytest.fixture(scope="module")
def stories():
    """Crowded random situations and what the world makes of them, as numpy."""
    rng = np.random.default_rng(0)
    actions = rng.choice(8, (CASES, SLOTS), p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.3])
    place = rng.uniform([-1.05, -0.85], [1.05, 0.85], (CASES, SLOTS, 2)) * rng.choice([0.2, 1], (CASES, 1, 1))
    present, velocity = rng.random((CASES, SLOTS)) < 0.9, rng.uniform(-1, 1, (CASES, SLOTS, 2))
    pose = (jnp.asarray(part, jnp.float32) for part in (place, velocity, rng.uniform(0, 400, (CASES, SLOTS))))
    nothing = jnp.zeros((CASES, SLOTS), jnp.int32)
    leaves = jnp.asarray(present), *pose, nothing > 0, nothing, nothing[:, 0]
    state = jax.tree.unflatten(jax.tree.structure(situation([None], [None])), leaves)
    step = jax.jit(jax.vmap(WORLD.step, (None, 0, 0)))
    after, reward, over = step(make_key(0), state, jnp.asarray(actions))
    return jax.tree.map(np.asarray, (state, actions, after, reward, over))


def test_random_situations_go_on_as_plain_rules_say(stories):
    hits, arrivals, collisions = 0, 0, 0
    for case in range(CASES):
        state, actions, after, reward, over = jax.tree.map(lambda leaf, case=case: leaf[case], stories)
        bodies, alive, rewards, out, reached = restated(state, actions)
        np.testing.assert_allclose(reward, rewards, atol=1e-4)
        assert over == reached
        assert after.out_for.tolist() == out
        for k in alive:
            np.testing.assert_allclose(after.position[k], bodies[k].at, atol=1e-4)
            np.testing.assert_allclose(after.velocity[k], bodies[k].speed, atol=1e-3)
            np.testing.assert_allclose(after.angle[k], bodies[k].angle, atol=1e-3)
        hits, arrivals = hits + sum(time > 0 for time in out), arrivals + reached
        collisions += sum(np.linalg.norm(bodies[k].speed) > 1.4 for k in alive)
    assert min(hits, arrivals, collisions) > 5
