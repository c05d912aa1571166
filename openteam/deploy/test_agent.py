"""A deployed agent: mistakes, memory, growth, seeds and threads."""

import threading

import jax
import numpy as np
import pytest

import openteam
from openteam.core import random
from openteam.deploy.agent import Agent
from openteam.deploy.conftest import FULL, PARTIAL, new_policy, small
from openteam.errors import UserError
from openteam.registry import make_algorithm
from openteam.rollout.episodes import play

SHARED = [1.0, 2.0, 1.0]
ME, ANN, BOB = [0.0, 1.0, 1.0], [2.0, 2.0, 2.0], [4.0, 3.0, 1.0]


@pytest.fixture(scope="module")
def policy():
    return new_policy(small(make_algorithm("gpl-q-remembers", PARTIAL)), PARTIAL, scale=0.5)  # its gates are half open


@pytest.fixture
def agent(policy):
    return Agent(policy, FULL)


def values(agent):
    """What it thinks its last decision's actions were worth."""
    return list(agent.explain()["action_values"].values())


def remembers(agent, who):
    """What it remembers of a teammate."""
    return np.asarray(agent._step.memory(agent._state.memory).slots.value.cell[agent._state.roster.slot_of[who]])


def snapshot(agent):
    state = agent._state
    return state.roster, jax.tree.map(np.asarray, state.memory), state.draws, state.previous_action, state.starts


MISTAKES = {
    "feature length": (({"me": ME, "ann": [1, 2]}, SHARED), r"'ann' must be 3 numbers, as in training; got 2 numbers"),
    "no numbers": (({"me": ME, "ann": "left"}, SHARED), r"'ann' must be 3 numbers; got 'left'"),
    "shared length": (({"me": ME}, [1.0]), r"shared=\.\.\.\) must be 3 numbers, as in training; got 1 numbers"),
    "no shared": (({"me": ME},), r"shared=\.\.\.\) must be 3 numbers, as in training; got 0 numbers"),
    "not a number": (({"me": ME, "ann": [0, np.nan, 1]}, SHARED), r"'ann' must be finite; number 1 is nan"),
    "infinite shared": (({"me": ME}, [0, 0, np.inf]), r"must be finite; number 2 is inf"),
    "learner missing": (
        ({"ann": ANN, "bob": BOB}, SHARED),
        r"The learner 'me' is not in the team, which has 'ann'",
    ),
    "equal ids": (([("me", ME), ("ann", ANN), ("ann", BOB)], SHARED), r"'ann' is in the team twice"),
    "empty": (({}, SHARED), r"The team is empty"),
    "unhashable id": (([(["me"], ME)], SHARED), r"A team is a dictionary"),
    "unknown action": (({"me": ME}, SHARED, ["nroth"]), r"There is no action 'nroth'\. Did you mean 'north'\?"),
    "legal length": (({"me": ME}, SHARED, [True, False]), r"a True or False for each of the 6 actions"),
    "nothing legal": (({"me": ME}, SHARED, [False] * 6), r"No action is legal"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_sentence_and_changes_nothing(mistake, agent):
    given, sentence = MISTAKES[mistake]
    agent.act({"me": ME, "ann": ANN}, SHARED)
    before = snapshot(agent)
    with pytest.raises(UserError, match=sentence):
        agent.act(*given)
    with pytest.raises(UserError, match="Actions are 0 to 5"):
        agent.act({"me": ME}, SHARED, previous_action=6)
    after = snapshot(agent)
    assert after[0] is before[0]
    assert after[2:] == before[2:]
    jax.tree.map(np.testing.assert_array_equal, after[1], before[1])


def test_memory_follows_ids_and_newcomers_have_none(policy):
    one, two = Agent(policy, PARTIAL), Agent(policy, PARTIAL)
    one.act({"me": ME, "ann": ANN, "bob": BOB}, SHARED)
    two.act({"bob": BOB, "ann": ANN, "me": ME}, SHARED)
    one.act({"bob": ANN, "me": ME, "ann": BOB}, SHARED)
    two.act({"me": ME, "ann": BOB, "bob": ANN}, SHARED)
    np.testing.assert_allclose(values(one), values(two), atol=1e-5)
    two.act({"me": ME, "eve": BOB, "bob": ANN}, SHARED)
    one.act({"me": ME, "ann": BOB, "bob": ANN}, SHARED)
    np.testing.assert_allclose(remembers(one, "bob"), remembers(two, "bob"), atol=1e-5)
    assert not np.allclose(remembers(one, "ann"), remembers(two, "eve"), atol=1e-2)
    fresh = Agent(policy, PARTIAL)
    fresh.act({"me": ME, "eve": BOB}, SHARED)
    np.testing.assert_allclose(remembers(two, "eve"), remembers(fresh, "eve"), atol=1e-5)


def test_in_a_partial_view_who_returns_is_known_and_in_a_full_view_is_new(policy):
    for task, is_known in ((PARTIAL, True), (FULL, False)):
        returned, new = Agent(policy, task), Agent(policy, task)
        for agent, then in ((returned, "ann"), (new, "eve")):
            agent.act({"me": ME, "ann": ANN}, SHARED)
            agent.act({"me": ME}, SHARED)
            agent.act({"me": ME, then: ANN}, SHARED)
        assert np.allclose(values(returned), values(new), atol=1e-4) != is_known


def test_who_is_forgotten_is_new_on_return(policy):
    forgotten, new = Agent(policy, PARTIAL), Agent(policy, PARTIAL)
    for agent, then in ((forgotten, "ann"), (new, "eve")):
        agent.act({"me": ME, "ann": ANN}, SHARED)
        agent.forget("ann")
        agent.forget("never seen")
        assert agent.remembered == ()
        agent.act({"me": ME, then: ANN}, SHARED)
    np.testing.assert_allclose(values(forgotten), values(new), atol=1e-6)
    with pytest.raises(UserError, match="'me' is the learner itself"):
        new.forget("me")


def test_a_team_that_outgrows_the_agent_loses_no_memory(policy):
    crowd = {f"drone-{n}": [n % 5, n % 3, 1] for n in range(9)}
    grown, roomy = Agent(policy, FULL), Agent(policy, FULL, agents=16)
    for team in ({"me": ME, "ann": ANN}, {"me": ME, "ann": BOB} | crowd, {"me": ME, "ann": ANN}):
        grown.act(team, SHARED)
        roomy.act(team, SHARED)
        np.testing.assert_allclose(values(grown), values(roomy), atol=1e-4)
    assert (grown.capacity, roomy.capacity) == (16, 16)


def test_a_policy_for_teams_of_limited_size_says_so_and_grows_as_far_as_it_can():
    learner = small(make_algorithm("ql", FULL))
    task = openteam.Task(
        name="six", world=FULL.world, pool=FULL.pool, openness=FULL.openness,
        splits={"larger": openteam.Split(openness=openteam.Closed(6))},
    )  # fmt: skip
    agent = Agent(new_policy(learner, task), task)
    team = {"me": ME} | {str(n): ANN for n in range(5)}
    agent.act(team, SHARED)
    assert agent.capacity == 6
    with pytest.raises(UserError, match="at most 6 agents and the team has room for 7"):
        agent.act(team | {"one more": ANN}, SHARED)
    assert agent.capacity == 6


def test_ten_thousand_arrivals_and_departures_leave_memory_flat(policy):
    rng = np.random.default_rng(0)
    for task in (FULL, PARTIAL):
        agent = Agent(policy, task, agents=16)
        present = [f"drone-{number}" for number in range(15)]
        agent.act({"me": ME} | dict.fromkeys(present, ANN), SHARED)
        compiled, live, changes, newest = agent._step.act._cache_size(), len(jax.live_arrays()), 0, 15
        while changes < 10_000:
            stay = [who for who in present if rng.random() < 0.3]
            arrivals = [f"drone-{newest + number}" for number in range(rng.integers(16 - len(stay)))]
            changes += len(present) - len(stay) + len(arrivals)
            newest, present = newest + len(arrivals), [*arrivals, *stay]
            agent.act({"me": ME} | dict.fromkeys(present, ANN), SHARED)
        assert agent.capacity == 16
        assert len(agent.remembered) == len(agent._state.roster.last_seen) <= 15
        assert len(jax.live_arrays()) <= live + 12  # of the last decision, which can be explained
        assert agent._step.act._cache_size() == compiled


def test_explanations_are_by_id_and_name_of_action(agent):
    with pytest.raises(UserError, match="no decision to explain yet"):
        agent.explain()
    action = agent.act({"ann": ANN, "me": ME, 7: BOB}, SHARED)
    why = agent.explain()
    assert why["action"] == agent.actions[action] == max(why["action_values"], key=why["action_values"].get)
    assert set(why["predicted"]) == {"ann", 7}
    assert list(why["singular"]["me"]) == list(agent.actions) == list(FULL.world.layout(4).actions)
    assert sum(why["predicted"]["ann"].values()) == pytest.approx(1, abs=1e-5)
    assert set(map(frozenset, why["pairwise"])) == {frozenset(p) for p in (("me", "ann"), ("me", 7), ("ann", 7))}
    assert why["pairwise"]["me", "ann"]["load"].keys() == set(agent.actions)
    assert set(why["types"]) == {"me", "ann", 7}


def test_a_belief_is_explained_by_id(policy):
    agent = Agent(new_policy(small(make_algorithm("ae-gpl", PARTIAL)), PARTIAL), PARTIAL)
    agent.act({"me": ME, "ann": ANN}, SHARED)
    agent.act({"me": ME}, SHARED)
    belief = agent.explain()["belief"]
    assert set(belief["exists"]) == {"me", "ann"}
    assert 0 <= belief["others"] <= 2
    assert len(belief["features"]["ann"]) == 3
    assert set(belief["predicted"]["ann"]) == set(agent.actions)


def test_seeds_decide_and_agents_are_independent():
    policy = new_policy(small(make_algorithm("ppo", FULL)), FULL, scale=0.3)
    team = {"me": ME, "ann": ANN}
    plays = {}
    agents = [Agent(policy, FULL, seed=seed) for seed in (1, 1, 2)]
    for _ in range(12):
        for number, agent in enumerate(agents):  # by turns
            plays.setdefault(number, []).append(agent.act(team, SHARED))
    assert plays[0] == plays[1] != plays[2]
    agents[0].reset(seed=2)
    assert [agents[0].act(team, SHARED) for _ in range(12)] == plays[2]


def test_legal_actions_by_name_or_truth_value():
    learner = small(make_algorithm("ippo", FULL))
    agent = Agent(new_policy(learner, FULL), FULL)
    for legal in (["east", "load"], [False] * 4 + [True] * 2, np.array([0, 0, 0, 0, 1, 1])):
        assert {agent.actions[agent.act({"me": ME}, SHARED, legal)] for _ in range(8)} <= {"east", "load"}


def test_several_threads_share_one_agent_and_each_has_its_own(policy):
    shared, alone = Agent(policy, FULL), [Agent(policy, FULL) for _ in range(4)]
    trouble = []

    def work(number):
        try:
            for step in range(60):
                shared.act({"me": ME, f"{number}-{step}": ANN}, SHARED)
                alone[number].act({"me": [step % 5, 1, 1], "ann": ANN}, SHARED)
        except BaseException as error:
            trouble.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not trouble
    assert int(shared._state.draws.served) == 240
    reference = Agent(policy, FULL)
    for step in range(60):
        reference.act({"me": [step % 5, 1, 1], "ann": ANN}, SHARED)
    for agent in alone:
        jax.tree.map(np.testing.assert_array_equal, agent._state.memory, reference._state.memory)


def test_whole_episodes_of_an_evaluation_are_decided_alike(policy):
    """By the very program that evaluates."""
    keep = lambda step: (step.view, step.env.visits, step.decision.action)  # noqa: E731
    played = jax.device_get(play(FULL, policy, random.key(0), 2, keep))
    views, visits, actions = played.kept
    agent = Agent(policy, FULL)
    for episode, length in enumerate(played.lengths):
        agent.reset()
        for t in range(length):
            obs = jax.tree.map(lambda leaf, t=t: leaf[t, episode], views.obs)  # noqa: B023
            ids = {slot: f"{slot}-{visits[t, episode, slot]}" if slot else "me" for slot in np.flatnonzero(obs.visible)}
            team = {ids[slot]: obs.agents[slot] for slot in reversed(ids)}
            assert agent.act(team, obs.shared, obs.legal) == actions[t, episode]
