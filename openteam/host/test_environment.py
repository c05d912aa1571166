"""An environment in plain Python as arrays: who sits where, what ends, who acts, and what is said of mistakes."""

from types import SimpleNamespace

import numpy as np
import pytest

from openteam.errors import UserError
from openteam.host.environment import NO_ACTION, Environment
from openteam.host.settings import HostSettings

ME = __name__


class Scripted:
    """Who is there at each step, and who ends how, as given; an observation is the id's number and the clock."""

    def __init__(self, script=("me a b", "me b c", "me c"), ends=None, flag="truncated", keep=False, **more):
        self.script, self.ends, self.flag, self.keep = [line.split() for line in script], ends, flag, keep
        self.more = SimpleNamespace(**{"actions": 3, "mask": None, "broken": None, "returns": 5} | more)
        self.asked = []

    def reset(self, seed=None, options=None):
        self.clock, self.agents = 0, list(self.script[0])
        return self.observe(self.agents), {}

    def observe(self, ids):
        rows = {one: np.array([sum(map(ord, one)), self.clock], float) for one in ids}
        if self.more.broken == "nan":
            rows["me"][0] = np.nan
        return {one: {"observation": row, "action_mask": self.more.mask} for one, row in rows.items()} \
            if self.more.mask else rows  # fmt: skip

    def action_space(self, one):
        return self.more.actions

    def step(self, actions):
        if self.more.broken == "raises" and self.clock == 1:
            raise ValueError("the motor is hot")
        before, self.clock = list(self.agents), self.clock + 1
        self.asked.append(actions)
        ends = self.clock == self.ends
        self.agents = list(self.script[self.clock % len(self.script)])
        seen = self.observe(self.agents)
        terminated = dict.fromkeys(before, ends and self.flag == "terminated")
        truncated = dict.fromkeys({*before, *seen}, ends and self.flag == "truncated")
        if ends and not self.keep:
            self.agents = []
        told = seen, {one: float(len(one)) for one in before}, terminated, truncated, {}
        return told[: self.more.returns]


def scripted(cap=4, settings=None, **arguments):
    return Environment(HostSettings(f"{ME}:Scripted", "me", arguments, cap, **(settings or {})))


def joint(action=0, slots=4):
    return np.array([action, *[NO_ACTION] * (slots - 1)], np.int32)


def test_everybody_keeps_a_slot_and_newcomers_take_the_lowest_that_is_free():
    env = scripted()
    first = env.start(0)
    assert env.slots.ids == ["me", "a", "b", None]
    assert first.present.tolist() == first.visible.tolist() == first.new.tolist() == [True, True, True, False]
    assert first.starts
    assert first.arrived.all()
    second = env.step(joint(), 0).now
    assert env.slots.ids == ["me", "c", "b", None]
    assert second.new.tolist() == second.arrived.tolist() == [False, True, False, False]
    assert second.agents[:, 0].tolist() == [sum(map(ord, "me")), ord("c"), ord("b"), 0]
    third = env.step(joint(), 0).now
    assert env.slots.ids == ["me", "c", None, None]
    assert not third.new.any()
    assert third.previous_actions[0] == 0


def test_an_id_that_comes_back_is_somebody_new():
    env = scripted(script=("me a", "me", "me a"))
    env.start(0)
    assert not env.step(joint(), 0).now.present[1]
    assert env.step(joint(), 0).now.new[1]


def test_somebody_who_arrives_out_of_sight_is_new_when_first_seen(monkeypatch):
    env = scripted(script=("me", "me a", "me a", "me a"), settings={"sees": f"{ME}:late"})
    env.start(0)
    hidden, seen, known = (env.step(joint(), 0).now for _ in range(3))
    assert (hidden.present[1], hidden.visible[1], hidden.new[1]) == (True, False, False)
    assert (seen.visible[1], seen.new[1], known.new[1]) == (True, True, False)


def late(env, one):
    return env.clock > 1


@pytest.mark.parametrize("keep", [True, False])
def test_truncation_ends_the_episode_and_keeps_the_discount_and_where_it_led(keep):
    env = scripted(ends=2, keep=keep)
    env.start(0)
    assert not env.step(joint(), 0).ends
    end = env.step(joint(2), 0)
    assert (end.ends, end.discount, end.reward) == (True, 1, 2)
    assert end.after.present.tolist() == [True, True, False, False]  # c, who was cut with the episode
    assert not end.after.starts
    assert end.after.previous_actions[0] == 2
    assert end.now.starts
    assert end.now.present.tolist() == [True, True, True, False]
    assert end.now.previous_actions.tolist() == [NO_ACTION] * 4


@pytest.mark.parametrize("script", [("me a", "me a", "me a"), ("me a", "me a", "a")])
def test_the_learners_death_ends_the_game_and_the_environment_is_reset(script):
    env = scripted(script=script, ends=2 if "me" in script[-1] else None, flag="terminated")
    env.start(0)
    assert env.step(joint(), 0).discount == 1
    end = env.step(joint(), 0)
    assert (end.ends, end.discount) == (True, 0)
    assert end.after.visible[0]
    assert end.now.starts
    assert env.env.clock == 0


def test_the_horizon_cuts_an_episode_that_goes_on():
    env = scripted(settings={"horizon": 3})
    env.start(0)
    assert [(bool(one.ends), float(one.discount)) for one in (env.step(joint(), 0) for _ in range(4))] == [
        (False, 1), (False, 1), (True, 1), (False, 1)]  # fmt: skip


def test_present_says_who_is_there_of_those_who_are_listed():
    env = scripted(settings={"present": f"{ME}:not_b"})
    assert env.start(0).present.sum() == 2
    env.step(joint(), 0)
    assert set(env.env.asked[0]) == {"me", "a", "b"}  # all who are listed must act


def not_b(env, one):
    return one != "b"


def test_teammates_act_by_functions_classes_and_at_random():
    env = scripted(settings={"teammates": (f"{ME}:second", f"{ME}:Counter")}, script=("me a b c",))
    env.start(3)
    assert set(env.types[1:]) == {0, 1}
    for clock in range(1, 3):
        taken = env.step(joint(), 0).actions
        assert taken.tolist() == [0, *(2 if kind == 0 else clock for kind in env.types[1:])]
    anybody = scripted(script=("me a b c",), mask=[True, False, True])
    anybody.start(0)
    drawn = {int(action) for _ in range(20) for action in anybody.step(joint(), 0).actions[1:]}
    assert drawn == {0, 2}
    assert anybody.start(0).legal[0].tolist() == [True, False, True]


def second(env, one, observation, rng):
    return 2


class Counter:
    def __init__(self):
        self.count = 0

    def __call__(self, env, one, observation, rng):
        self.count += 1
        return self.count


def test_an_environment_may_move_teammates_by_itself():
    env = scripted(settings={"taken": f"{ME}:moved"}, script=("me a b",))
    env.start(0)
    assert env.step(joint(1), 0).actions.tolist() == [1, ord("a") % 3, ord("b") % 3, NO_ACTION]
    assert env.env.asked == [{"me": 1}]


def moved(env, one):
    return ord(one) % 3


def test_actions_may_begin_at_another_number():
    env = scripted(actions=SimpleNamespace(n=3, start=5), script=("me a",))
    env.start(0)
    env.step(joint(2), 0)
    assert env.env.asked[0]["me"] == 7
    assert 5 <= env.env.asked[0]["a"] <= 7


def takes_turns(**arguments):
    return SimpleNamespace(agent_iter=None)


def one_word(env, observations, one):
    return ["word"]


MISTAKES = [
    ({"script": ("a b",)}, {}, r"no agent 'me' when an episode begins. It has: a, b"),
    ({"script": ("me a b c d",)}, {}, r"There are 5 agents .* room for 4.*--task.cap 5"),
    ({"actions": "Box(2,)"}, {}, r"The actions of me are Box\(2,\).*Discrete space or a whole number"),
    ({"broken": "nan"}, {}, r"features have a number that is not finite"),
    (
        {"broken": "raises"},
        {},
        r"step failed with ValueError: the motor is hot \(.*test_environment.py, line \d+: raise",
    ),
    ({"returns": 4}, {}, r"step must return five dictionaries"),
    ({}, {"features": f"{ME}:one_word"}, r"features, .*one_word, failed with ValueError: could not convert"),
    ({}, {"teammates": (f"{ME}:late",)}, r"teammate .*late .* failed with TypeError"),
    ({}, {"env": f"{ME}:takes_turns"}, r"agents take turns \(PettingZoo's AECEnv\).*aec_to_parallel"),
    ({}, {"env": "types:SimpleNamespace"}, r"made a SimpleNamespace, which has no agents, reset, step, action_space"),
]


@pytest.mark.parametrize(("arguments", "settings", "sentence"), MISTAKES)
def test_a_mistake_gets_a_sentence(arguments, settings, sentence):
    given = {"env": f"{ME}:Scripted", "learner": "me", "arguments": arguments, "cap": 4} | settings
    with pytest.raises(UserError, match=sentence):
        play(HostSettings(**given))


def play(settings):
    env = Environment(settings)
    env.start(0)
    for _ in range(2):
        env.step(joint(), 0)
