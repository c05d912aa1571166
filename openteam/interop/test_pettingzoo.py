"""Everybody in a team as agents: PettingZoo's own tests for every world, and what the two modes promise."""

import dataclasses

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import parallel_api_test, parallel_seed_test

import openteam
from openteam.errors import UserError
from openteam.interop.pettingzoo import parallel_env

WORLDS = ("wolfpack", "fortattack-duel", "navigation-partial", "evasion", "probe-teammate-joins")
CYCLES, EPISODES = 120, 12


@pytest.fixture(scope="module")
def task():
    return dataclasses.replace(
        openteam.make("lbf"),
        name="lively",
        horizon=12,
        openness=openteam.Lifetimes(cap=4, start_low=2, start_high=4, lifetime=(1, 3), wait=(1, 2)),
        world=openteam.Foraging(size=6, foods=1),
        pool=openteam.Pool((openteam.Uniform(),)),
        splits={},
    )


@pytest.mark.parametrize("mode", ["visits", "slots"])
@pytest.mark.parametrize("world", [None, *WORLDS])
@pytest.mark.filterwarnings("ignore:This environment does not have possible_agents", "ignore:No agents present")
def test_a_world_passes_pettingzoos_own_tests(world, mode, task):
    chosen = world or task  # the latter is foraging
    parallel_api_test(parallel_env(chosen, mode), CYCLES)
    parallel_seed_test(lambda: parallel_env(chosen, mode), CYCLES)
    one, other = (list(play(parallel_env(chosen, mode), 3)) for _ in range(2))  # theirs stops after a step
    assert data_equivalence(one, other, exact=True)


def play(env, seed, episodes=1):
    """Whole episodes of agents that act at random: the agents before each step, and everything after it."""
    rng = np.random.default_rng(seed)
    for number in range(episodes):
        obs, infos = env.reset(seed=seed if number == 0 else None)
        assert obs.keys() == infos.keys() == set(env.agents)
        while env.agents:
            before = list(env.agents)
            actions = {agent: int(rng.integers(env.action_space(agent).n)) for agent in before}
            step = env.step(actions)
            assert len({frozenset(part) for part in step}) == 1
            yield before, list(env.agents), *step


@pytest.fixture(scope="module")
def visits(task):
    return list(play(parallel_env(task), 0, EPISODES))


@pytest.fixture(scope="module")
def slots(task):
    return list(play(parallel_env(task, "slots"), 0, EPISODES))


def test_a_visit_has_an_id_of_its_own_until_it_is_truncated(visits):
    gone, fresh, departures = set(), True, 0
    for before, after, obs, _, terminations, truncations, _ in visits:
        if fresh:
            gone, highest = set(), max(map(number_of, before))
        newcomers = [agent for agent in obs if agent not in before]
        assert [number_of(agent) for agent in newcomers] == list(range(highest + 1, highest + 1 + len(newcomers)))
        highest += len(newcomers)
        left = {agent for agent in obs if terminations[agent] or truncations[agent]}
        assert set(after) == set(obs) - left
        assert not set(after) & gone
        gone |= left
        fresh = not after
        departures += 0 < len(left) < len(obs)
    assert departures > 20


def number_of(agent):
    return int(agent.removeprefix("agent_"))


def test_the_learners_seat_is_never_left(visits):
    assert all("agent_0" in before for before, *_ in visits)


def test_the_end_of_an_episode_is_told_to_everybody_there(visits):
    ends = [moment for moment in visits if not moment[1]]
    assert len(ends) == EPISODES
    kinds = set()
    for before, _, obs, _, terminations, truncations, _ in ends:
        assert set(obs) == set(before)  # nobody joins an episode that is over
        assert all(terminations[agent] != truncations[agent] for agent in before)
        assert len(set(terminations.values())) == 1
        kinds |= set(terminations.values())
    assert kinds == {True, False}


def test_whoever_comes_starts_anew_and_whoever_leaves_sees_itself_a_last_time(visits):
    comings = goings = 0
    for before, after, obs, rewards, _, truncations, infos in visits:
        for agent in set(after) - set(before):
            comings += 1
            assert rewards[agent] == 0
            assert infos[agent]["starts"]
            assert (infos[agent]["new"] == obs[agent]["visible"]).all()
        for agent in set(before) & set(after):
            assert not infos[agent]["starts"]
        for agent in before:
            if truncations[agent] and after:
                goings += 1
                assert obs[agent]["visible"][0]
                assert not infos[agent]["present"]
        here = [obs[agent]["visible"].sum() for agent in after]
        assert all(count == len(after) for count in here)  # everybody sees everybody, and nobody who has gone
    assert comings > 20 < goings


def test_everybody_sees_the_same_from_its_own_side(visits):
    for _, after, obs, *_ in visits:
        for agent in after:
            mine = obs[agent]
            assert (mine["shared"] == obs[after[0]]["shared"]).all()
            rows = mine["agents"][mine["visible"] == 1]
            assert sorted(map(tuple, rows)) == sorted(tuple(obs[other]["agents"][0]) for other in after)


def test_only_slots_have_possible_agents(task):
    assert not hasattr(parallel_env(task), "possible_agents")
    assert parallel_env(task, "slots").possible_agents == [f"agent_{slot}" for slot in range(4)]


def test_slots_are_always_there_and_masks_say_who_is_in_them(slots):
    empty = full = 0
    for before, after, obs, _, _, truncations, infos in slots:
        assert len(before) == 4 == len(obs)
        assert after in ([], before)
        assert len(set(truncations.values())) == 1
        for agent, seen in obs.items():
            if infos[agent]["present"]:
                full += 1
                assert seen["visible"][0]
            else:
                empty += 1
                assert not seen["visible"].any()
                assert (seen["agents"] == [-1, -1, 0]).all()
                assert seen["action_mask"].tolist() == [1, 0, 0, 0, 0, 0] == infos[agent]["action_mask"].tolist()
    assert empty > 20 < full


def test_a_new_occupant_of_a_slot_is_told_by_starts(slots):
    """Also where one leaves and another comes in the same step."""
    changes, present = 0, None
    for _, after, *_, infos in slots:
        now = {agent: info["present"] for agent, info in infos.items()}
        for agent, info in infos.items():
            if present is not None and now[agent] and not present[agent]:
                assert info["starts"]
            changes += info["starts"] and present is not None and present[agent]
        present = now if after else None
    assert changes > 0


def test_actions_of_empty_slots_may_be_left_out_and_have_no_effect(task):
    all_act, some_act = parallel_env(task, "slots"), parallel_env(task, "slots")
    (obs, infos), again = all_act.reset(seed=5), some_act.reset(seed=5)
    assert data_equivalence((obs, infos), again)
    while all_act.agents:
        mine = {agent: 5 if infos[agent]["present"] else 3 for agent in all_act.agents}
        step = all_act.step(mine)
        assert data_equivalence(step, some_act.step({a: 5 for a in mine if infos[a]["present"]}), exact=True)
        infos = step[-1]


def test_the_game_can_be_drawn(task):
    env = parallel_env(task, render_mode="ansi")
    assert env.render() is None
    env.reset(seed=1)
    assert env.render().startswith((".", "A", "b", "c", "d", "1", "2", "3"))
    env = parallel_env(task, render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().shape[2] == 3
    assert len(np.unique(env.render().reshape(-1, 3), axis=0)) > 4


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda task: parallel_env(task, "turns"), "'visits' or 'slots'; got 'turns'"),
        (lambda task: parallel_env("evasion", render_mode="ansi"), "'evasion' has no drawing"),
        (lambda task: parallel_env(task).step({}), "call reset"),
        (lambda task: started(task).step({"agent_0": 0}), "got no action of ['agent_1'"),
        (lambda task: started(task).step(all_stay(task) | {"agent_9": 0}), "actions of ['agent_9'] who are not there"),
        (lambda task: started(task).step(all_stay(task) | {"agent_0": 6}), "from 0 to 5; got 6"),
    ],
)
def test_mistakes_get_a_sentence(task, mistake, sentence):
    with pytest.raises(UserError) as told:
        mistake(task)
    assert sentence in str(told.value)


def started(task):
    env = parallel_env(task)
    env.reset(seed=0)
    return env


def all_stay(task):
    return dict.fromkeys(started(task).agents, 0)
