"""PettingZoo's Knights Archers Zombies as a task: everybody may die, and the learner is one of two archers.

Needs ``pip install pettingzoo pygame``. From this folder:
``openteam train knights:task gpl-q --import knights --steps 16_000 --out runs/knights``, with the settings that
docs/your-own-environment.md gives.
"""

import os

import numpy as np
from repeated import Repeated

import openteam

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # no window
ME, NEAREST = "archer_0", 4
TEAM = ("archer_0", "archer_1", "knight_0", "knight_1")
BLANK = np.zeros((27, 5))


def make(max_cycles=400, spawn_delay=8, frames=5):
    """The environment, with observations as rows: oneself, four fighters, two swords, ten arrows, ten zombies."""
    from pettingzoo.butterfly import knights_archers_zombies_v11

    env = knights_archers_zombies_v11.parallel_env(max_cycles=max_cycles, spawn_delay=spawn_delay)
    return Repeated(env, frames)


def features(env, observations, one):
    """Where a fighter is, seen from the learner, where it looks, and what it is."""
    seen = observations.get(ME, BLANK)
    row = seen[0] if one == ME else seen[1 + TEAM.index(one)]
    return [*row, one == ME, one.startswith("archer")]


def shared(env, observations):
    """The nearest zombies: distance, where, and the angle between it and where the learner looks."""
    seen = observations.get(ME, BLANK)
    zombies = [row for row in seen[17:] if row.any()]
    nearest = sorted(zombies, key=lambda row: row[0])[:NEAREST]
    return np.concatenate([bearing(row, seen[0, 3:]) for row in nearest] + [np.zeros(6)] * (NEAREST - len(nearest)))


def bearing(row, heading):
    """Of one zombie."""
    where = row[1:3] / max(np.linalg.norm(row[1:3]), 1e-6)
    ahead, aside = where @ heading, where[0] * heading[1] - where[1] * heading[0]
    return np.array([1, row[0], *row[1:3], ahead, aside])


def task():
    """Teammates act at random."""
    return openteam.HostTask(
        "knights:make", ME, features="knights:features", shared="knights:shared", name="knights-archers-zombies"
    )
