"""Tasks and algorithms by name, also those of other people's modules."""

import pytest

import openteam
from openteam.commands.parts import build
from openteam.errors import UserError

meadow = openteam.make("probe-constant")
answer = 42


def harvest() -> openteam.Task:
    return meadow


def harvest_of(year: int) -> openteam.Task:
    return meadow


def test_a_task_of_an_imported_module_is_a_value_or_made_by_a_function():
    assert openteam.make(f"{__name__}:meadow") is meadow
    assert openteam.make(f"{__name__}:harvest") is meadow


def test_an_algorithm_of_an_imported_module_may_be_its_class():
    assert openteam.make_algorithm("openteam:GPL") == openteam.GPL()


def test_flags_change_what_an_algorithm_is_for_its_task_as_the_flags_change_that():
    changes = ["--task.openness.team-size", "6", "--task.openness.guards", "6", "--algorithm.hidden", "9"]
    parts = build("fortattack-released", "gpl-q-released", changes)
    assert parts.task.max_agents == 12
    assert (parts.algorithm.hidden, parts.algorithm.type_size) == (9, 128)
    assert parts.algorithm.head.pairwise == openteam.Factored()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (f"{__name__}:medaow", "has no 'medaow'"),
        (f"{__name__}:answer", "answer is no task: expected a Task, a HostTask or an environment"),
        (f"{__name__}:harvest_of", "must make the task without arguments: missing a required argument: 'year'"),
        ("my_worlds:maze", "my_worlds:maze is used here.* add --import my_worlds"),
        ("lfb", "Did you mean 'lbf'"),
    ],
)
def test_a_name_that_is_no_task_gets_a_sentence(name, sentence):
    with pytest.raises(UserError, match=sentence):
        openteam.make(name)
