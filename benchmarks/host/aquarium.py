"""marl-aquarium as a task: the learner is a fish in a shoal in which others are born and eaten.

Needs ``pip install pettingzoo pygame moviepy==1.0.3`` and ``pip install --no-deps marl-aquarium``. From this folder:
``openteam train aquarium:task gpl-q --import aquarium --steps 32_000 --out runs/aquarium``, with the settings that
docs/your-own-environment.md gives.
"""

import contextlib
import random

import numpy as np
from marl_aquarium.env.aquarium import raw_env
from marl_aquarium.env.prey import Prey
from repeated import Repeated

import openteam

SIZE, ACTIONS, ME = 600, 8, "prey_0"


class Aquarium(raw_env):
    """The environment lists those who were there at the start. Newborn prey act too: here they are agents.

    It keeps random numbers and the next id outside of itself, where several in one process would share them. Here each
    has its own.
    """

    def reset(self, seed=None, options=None):
        """Its own reset does not use the seed."""
        self.chance, self.born = random.Random(seed).getstate(), 0
        with self.alone():
            told = super().reset(seed=seed, options=options)
        self.agents = [one.id() for one in self.all_entities]
        return told

    def step(self, actions):
        """After a step ``agents`` are those who live."""
        with self.alone():
            told = super().step(actions)
        self.agents = [] if any(told[3].values()) else [one.id() for one in self.all_entities]
        return told

    @contextlib.contextmanager
    def alone(self):
        """Put what is shared to where this environment left it."""
        random.setstate(self.chance)
        Prey.identifier = self.born
        yield
        self.chance, self.born = random.getstate(), Prey.identifier

    def close(self):
        """Its own close ends the program."""


def make(max_time_steps=500, prey_count=2, max_prey_count=6, frames=5):
    """A predator that chases prey, and prey that replicate when they are old enough and get a point per frame."""
    env = Aquarium(
        render_mode="rgb_array", width=SIZE, height=SIZE, action_count=ACTIONS, fov_enabled=False, procreate=True,
        keep_prey_count_constant=False, predator_count=1, prey_count=prey_count, max_prey_count=max_prey_count,
        predator_observe_count=1, prey_observe_count=prey_count, prey_view_distance=2 * SIZE,
        predator_view_distance=2 * SIZE, max_time_steps=max_time_steps,
    )  # fmt: skip
    return Repeated(env, frames)


def offset(env, one, other):
    """From one to the other, the shorter way around the torus, in units of half the tank."""
    there = np.array([other.position.x - one.position.x, other.position.y - one.position.y])
    return ((there + SIZE / 2) % SIZE - SIZE / 2) / (SIZE / 2)


def entities(env):
    """Everybody alive by id."""
    return {one.id(): one for one in env.all_entities}


def features(env, observations, one):
    """Where somebody is and swims, seen from the learner, and what it is."""
    here = entities(env)
    other, me = here[one], here.get(ME, here[one])
    return [*offset(env, me, other), other.velocity.x / 5, other.velocity.y / 5, one == ME, one.startswith("prey")]


def shared(env, observations):
    """The way to the predator, and its direction."""
    here = entities(env)
    if ME not in here or not env.predators:
        return np.zeros(5)
    way = offset(env, here[ME], env.predators[0])
    far = np.linalg.norm(way)
    return [*way, far, *(way / max(far, 1e-6))]


class Resident:
    """Prey swim one way for a while; the predator swims to the nearest prey."""

    def __init__(self):
        self.way, self.left = 0, 0

    def __call__(self, env, one, observation, rng):
        """The action, one of eight directions."""
        if one.startswith("predator") and env.prey:
            me = entities(env)[one]
            x, y = min((offset(env, me, prey) for prey in env.prey), key=np.linalg.norm)
            return round(np.arctan2(x, -y) / (2 * np.pi / ACTIONS)) % ACTIONS  # action 0 is up, the others clockwise
        if self.left == 0:
            self.way, self.left = int(rng.integers(ACTIONS)), 4
        self.left -= 1
        return self.way


def task():
    """At most a predator and six prey."""
    return openteam.HostTask(
        "aquarium:make", ME, cap=7, features="aquarium:features", shared="aquarium:shared",
        teammates=("aquarium:Resident",), name="aquarium",
    )  # fmt: skip
