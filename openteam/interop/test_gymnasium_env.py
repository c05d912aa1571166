"""The environment of a learner, alone and among many, on a small task with a lively team."""

import dataclasses
import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces.utils import flatten
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import openteam
from openteam.compile_cache import once_jit
from openteam.errors import UserError
from openteam.interop.gymnasium_env import LearnerEnv
from openteam.interop.gymnasium_vector import LearnerVectorEnv
from openteam.interop.playing import root_of, step_key

STEPS, ENVS, ROWS = 40, 3, 5


@pytest.fixture(scope="module")
def task():
    """Episodes of up to seven steps; some end earlier because the only food is eaten."""
    lively = openteam.Lifetimes(lifetime=(2, 4), wait=(1, 3))
    return openteam.Task(
        name="lively",
        horizon=7,
        openness=lively,
        world=openteam.Foraging(size=5, foods=1),
        pool=openteam.Pool((openteam.Uniform(),)),
        splits={"larger": openteam.Split(openness=dataclasses.replace(lively, cap=ROWS))},
    )


@pytest.fixture(scope="module")
def played(task):
    """A reset, then steps of a random learner with resets where episodes end."""
    env, rng = LearnerEnv(task), np.random.default_rng(0)
    moments = [("reset", None, *env.reset(seed=7))]
    for _ in range(STEPS):
        action = int(rng.integers(6))
        *step, info = env.step(action)
        moments.append(("step", action, *step, info))
        if step[2] or step[3]:
            moments.append(("reset", None, *env.reset()))
    return moments


def parts_of(spaces, view):
    return spaces.encode(jax.device_get(view.obs))


def test_resets_and_steps_are_those_of_the_task(task, played):
    spaces = LearnerEnv(task).spaces
    reset, step = once_jit(task.reset), once_jit(task.step_within)
    root, episode = root_of(np.random.default_rng(7)), -1
    for kind, action, obs, *rest in played:
        if kind == "reset":
            episode += 1
            state, timestep = reset(step_key(root, jnp.int32(episode), jnp.int32(0)))
        else:
            key = step_key(root, jnp.int32(episode), state.clock + 1)
            state, timestep, _ = step(key, state, jnp.int32(action))
            ends, goes_on = bool(timestep.ends), bool(timestep.discount == 1)
            assert rest[:3] == [float(timestep.reward), not goes_on, ends and goes_on]
        assert data_equivalence(obs, parts_of(spaces, timestep.view), exact=True)
        assert rest[-1]["new"].tolist() == [*timestep.view.new.tolist(), False, False]
        assert rest[-1]["action_mask"].tolist() == obs["action_mask"].tolist()


def test_the_time_limit_truncates_and_the_last_food_terminates(played):
    ends, length = [], 0
    for kind, _, obs, *rest in played:
        length = 0 if kind == "reset" else length + 1
        if kind == "step" and (rest[1] or rest[2]):
            ends.append((rest[1], rest[2], length, obs["shared"][2]))
    assert all(truncated == (length == 7 and food > 0) for _, truncated, length, food in ends)
    assert all(terminated == (food == 0) for terminated, _, _, food in ends)
    assert {terminated for terminated, *_ in ends} == {True, False}


def test_rows_beyond_the_team_look_like_absent_agents(task, played):
    for _, _, obs, *_ in played:
        assert obs["agents"].shape == (ROWS, 3)
        absent = obs["visible"] == 0
        assert absent[task.slots :].all()
        assert (obs["agents"][absent] == [-1, -1, 0]).all()


def test_a_seed_gives_the_same_episodes_again_and_another_gives_others(task):
    env = LearnerEnv(task)

    def episodes(seed):
        return [env.reset(seed=seed)[0], *(env.reset()[0] for _ in range(3))]

    first, again, others = episodes(2**40), episodes(2**40), episodes(8)
    assert data_equivalence(first, again, exact=True)
    assert not data_equivalence(first, others)
    assert not data_equivalence(first[0], first[1])
    assert not data_equivalence(LearnerEnv(task).reset()[0], LearnerEnv(task).reset()[0])  # from the system's entropy


def test_many_environments_are_what_gymnasium_makes_of_single_ones(task):
    ours = LearnerVectorEnv(task, num_envs=ENVS)
    theirs = SyncVectorEnv([lambda: LearnerEnv(task)] * ENVS, autoreset_mode=AutoresetMode.SAME_STEP)
    assert ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    for name in ("single_observation_space", "observation_space", "single_action_space", "action_space"):
        assert getattr(ours, name) == getattr(theirs, name)
    rng, ended = np.random.default_rng(1), 0
    for options in ({"seed": 3}, {"seed": [5, 4, 9]}, {}):
        assert data_equivalence(ours.reset(**options), theirs.reset(**options), exact=True)
        for _ in range(STEPS // 2):
            actions = rng.integers(6, size=ENVS)
            mine, yours = ours.step(actions), theirs.step(actions)
            assert data_equivalence(mine, yours, exact=True)
            assert (ours.action_masks() == mine[0]["action_mask"]).all()
            ended += "final_obs" in mine[-1]
    assert ended > 5


def test_a_flat_observation_is_gymnasiums_own_flattening(task, played):
    env = LearnerEnv(task, flat=True)
    space = LearnerEnv(task).observation_space
    obs, _ = env.reset(seed=7)
    assert (obs == flatten(space, played[0][2])).all()
    assert obs in env.observation_space
    vectors, _ = LearnerVectorEnv(task, num_envs=ENVS, flat=True).reset(seed=7)
    assert (vectors[0] == obs).all()


def test_masks_are_the_actions_that_have_an_effect(task, played):
    env = LearnerEnv(task)
    obs, _ = env.reset(seed=7)
    assert env.action_masks().dtype == bool
    assert (env.action_masks() == obs["action_mask"]).all()
    assert not obs["action_mask"].all()
    assert all(moment[2]["action_mask"][0] for moment in played)  # to stay is always possible


def test_pictures_and_texts_show_the_world(task):
    env = LearnerEnv(task, render_mode="ansi")
    assert env.render() is None
    env.reset(seed=1)
    assert env.render().count("A") == 1
    vector = LearnerVectorEnv(task, num_envs=ENVS, render_mode="rgb_array")
    vector.reset(seed=1)
    pictures = vector.render()
    assert len(pictures) == ENVS
    for number, picture in enumerate(pictures):
        single = LearnerEnv(task, render_mode="rgb_array")
        single.reset(seed=1 + number)
        assert (single.render() == picture).all()
    assert (pictures[0] != pictures[1]).any()


def vector(task, **options):
    return LearnerVectorEnv(task, num_envs=ENVS, **options)


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda task: LearnerEnv(task).step(0), "call reset"),
        (lambda task: vector(task).step([0, 0, 0]), "call reset"),
        (lambda task: LearnerEnv(task, max_agents=2), "up to 3 agents; got max_agents 2. Give at least 3"),
        (lambda task: LearnerEnv(task, "huge"), "no split 'huge'. It has: train, larger"),
        (lambda task: LearnerEnv(task, render_mode="human"), "one of rgb_array, ansi; got 'human'"),
        (lambda task: LearnerEnv("probe-match", render_mode="ansi"), "'probe-match' has no drawing"),
        (lambda task: LearnerVectorEnv(task, num_envs=0), "num_envs must be at least 1; got 0"),
        (lambda task: vector(task).reset(seed=[1]), "3 environments: give as many seeds; got 1"),
        (lambda task: vector(task).reset(options={"reset_mask": np.ones(3, bool)}), "Leave it out"),
    ],
)
def test_mistakes_get_a_sentence(task, mistake, sentence):
    with pytest.raises(UserError) as told:
        mistake(task)
    assert sentence in str(told.value)


@pytest.mark.parametrize("action", [6, -1, 2.0, [1, 7]])
def test_an_action_that_does_not_exist_is_refused_and_nothing_happens(task, action):
    env = LearnerEnv(task)
    env.reset(seed=7)
    with pytest.raises(UserError, match="whole number from 0 to 5; got"):
        env.step(action)
    first = env.step(1)
    env.reset(seed=7)
    assert data_equivalence(env.step(1), first, exact=True)


def test_an_episode_that_ended_needs_a_reset(task):
    env = LearnerEnv(task)
    env.reset(seed=7)
    while True:
        *_, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            break
    with pytest.raises(UserError, match="No episode is going on"):
        env.step(0)


@pytest.mark.parametrize(("library", "lacking"), [("gymnasium", "gymnasium.envs.registration"), ("pettingzoo",) * 2])
def test_a_library_that_is_missing_is_named_with_its_extra(library, lacking, monkeypatch):
    monkeypatch.delitem(sys.modules, f"openteam.interop.{library}", raising=False)
    monkeypatch.setitem(sys.modules, lacking, None)
    with pytest.raises(UserError, match=rf"needs \w+: pip install 'openteam\[{library}\]'"):
        importlib.import_module(f"openteam.interop.{library}")
