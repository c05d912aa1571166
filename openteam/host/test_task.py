"""A host task is a value: it is written down by names, has splits, and refuses what does not fit together."""

import dataclasses

import numpy as np
import pytest

from openteam.errors import UserError
from openteam.host.registering import from_environment
from openteam.host.task import HostSplit, HostTask
from openteam.registry import make, make_any
from openteam.storage.config import from_json, to_json
from openteam.teammates import Pool, Uniform

ME = __name__


class Line:
    """Nobody but the learner, and as many others as are asked for."""

    possible_agents = ("me", "a", "b")

    def __init__(self, others=2, width=1):
        self.agents, self.width = ["me", *"abcd"[:others]], width

    def reset(self, seed=None):
        return {one: np.zeros(self.width) for one in self.agents}, {}

    def step(self, actions):
        return *self.reset()[:1], dict.fromkeys(actions, 0.0), dict.fromkeys(actions, False), {}, {}

    def action_space(self, one):
        return 2


def teammate(env, one, observation, rng):
    return 0


def line(**fields):
    return HostTask(f"{ME}:Line", "me", **fields)


def test_sizes_are_found_in_the_environment():
    task = line()
    assert (task.slots, task.spec.agent_features, task.spec.shared_features, task.spec.actions) == (3, 1, 0, 2)
    assert not task.spec.time_limit_terminates
    assert dataclasses.replace(task, cap=5).spec.max_agents == 5


def test_it_is_written_down_by_names_and_read_again():
    split = HostSplit(arguments={"others": 1}, teammates=(f"{ME}:teammate",))
    task = line(arguments={"others": 2}, name="line", splits={"few": split})
    again = from_json(to_json(task))
    assert to_json(again) == to_json(task)
    assert again.split("few").arguments == {"others": 1}
    assert again.split("few").teammates == (f"{ME}:teammate",)
    assert again.split("train") is again


def test_pools_and_functions_replace_each_other_in_a_split():
    pool = Pool((Uniform(),))
    assert line(teammates=(f"{ME}:teammate",), splits={"p": HostSplit(pool=pool)}).split("p").teammates == ()
    assert line(pool=pool, splits={"f": HostSplit(teammates=(f"{ME}:teammate",))}).split("f").pool is None


def test_an_environment_by_name_becomes_a_task():
    task = make_any(f"{ME}:Line", "me")
    assert (task.env, task.learner, task.name) == (f"{ME}:Line", "me", "test_task")


MISTAKES = {
    "is used here, and openteam imports only modules that you name: add --import nowhere": lambda: HostTask(
        "nowhere:make", "me"
    ),
    "'make' should be the name of a function with its module": lambda: HostTask("make", "me"),
    "is no function or class": lambda: HostTask(f"{ME}:ME", "me"),
    "by functions .* by policies .* or by themselves .*: choose one": lambda: line(
        teammates=(f"{ME}:teammate",), taken=f"{ME}:teammate"
    ),
    "horizon must be at least 1; got 0": lambda: line(horizon=0),
    "has no split 'far'. It has: train": lambda: line().split("far"),
    "The split 'wide' of 'host' must have the features": lambda: (
        line(splits={"wide": HostSplit(arguments={"width": 2})}).spec
    ),
    "this needs a task that openteam compiles": lambda: line().world,
    "which does not say who learns: add --learner me": lambda: make(f"{ME}:Line"),
    "is no task: expected a Task, a HostTask or an environment": lambda: from_environment("a:b", 3, None),
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_gets_a_sentence(sentence):
    with pytest.raises(UserError, match=sentence):
        MISTAKES[sentence]()
