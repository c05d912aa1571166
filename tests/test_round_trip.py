"""LBF exported as a PettingZoo environment and imported back: the learner sees the same, step by step.

That learning from it is the same too is in openteam/host/test_round_trip.py.
"""

import numpy as np
import pytest

import openteam
from openteam.host.environment import Environment
from openteam.host.settings import HostSettings

pettingzoo = pytest.importorskip("openteam.interop.pettingzoo")
team_playing = pytest.importorskip("openteam.interop.team_playing")

ME, STEPS, SEEDS = __name__, 60, (7, 8)
TASK = openteam.Task(
    name="foraging",
    world=openteam.Foraging(size=5, foods=2),
    openness=openteam.Lifetimes(cap=4, teammates=5, start_low=1, start_high=3, lifetime=(1, 3), wait=(1, 3)),
    pool=openteam.Pool((openteam.Uniform(),)),
    horizon=15,
)


def make():
    return pettingzoo.parallel_env(TASK)


def features(env, observations, one):
    """Everybody's own row is the first that it sees."""
    return observations[one]["agents"][0]


def shared(env, observations):
    return observations["agent_0"]["shared"]


def test_an_exported_task_comes_back_as_it_was():
    environment = Environment(
        HostSettings(f"{ME}:make", "agent_0", cap=4, features=f"{ME}:features", shared=f"{ME}:shared")
    )
    compiled, rng, arrived, ended = team_playing.TeamEpisodes(TASK), np.random.default_rng(0), 0, 0
    seen, turn, episode = environment.start(SEEDS[0]), compiled.reset(SEEDS[0]), 0
    for _ in range(STEPS):
        assert_same(seen, turn)
        actions = rng.integers(TASK.world.actions, size=TASK.slots).astype(np.int32)
        outcome, turn = (
            environment.step(np.where(seen.present, actions, -1), SEEDS[1] + episode),
            compiled.step(actions),
        )
        assert (bool(outcome.ends), float(outcome.discount)) == (bool(turn.ends), float(not turn.over))
        np.testing.assert_array_equal(outcome.rewards[seen.present], turn.rewards[seen.present])
        if turn.ends:
            turn, episode, ended = compiled.reset(SEEDS[1] + episode), episode + 1, ended + 1
        seen, arrived = outcome.now, arrived + int((outcome.now.new & ~outcome.now.starts).sum())
    assert ended > 1
    assert arrived > 3


def assert_same(seen, turn):
    """What the learner sees, and who is new to it."""
    view = turn.view
    np.testing.assert_array_equal(seen.visible, view.obs.visible[0])
    np.testing.assert_array_equal(seen.agents[seen.visible], view.obs.agents[0][seen.visible])
    np.testing.assert_array_equal(seen.shared, view.obs.shared[0])
    np.testing.assert_array_equal(seen.legal[0], view.obs.legal[0])
    np.testing.assert_array_equal(seen.new, view.new[0])
    assert bool(seen.starts) == bool(view.starts[0])
    assert seen.previous_actions[0] == view.previous_action[0]
