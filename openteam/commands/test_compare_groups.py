"""Which runs are seeds of one another, and what their task and algorithm are called."""

import dataclasses

import openteam
from openteam.analysis.compare import compare
from openteam.analysis.labels import Labels
from openteam.analysis.paper import published
from openteam.commands.test_compare import GPL_Q, GPL_SPI, make_run
from openteam.storage.config import to_json


def test_runs_of_other_tasks_algorithms_settings_and_lengths_are_not_merged(tmp_path):
    ones = [1.0, 1.0, 1.0]
    make_run(tmp_path / "1", ones, ones)
    make_run(tmp_path / "2", ones, ones, learner=GPL_SPI)
    make_run(tmp_path / "3", ones, ones, learner=GPL_Q | {"envs": 64, "rank": 2})
    make_run(tmp_path / "4", ones, ones, task="wolfpack")
    make_run(tmp_path / "5", ones, ones, steps=150)
    make_run(tmp_path / "6", ones, ones, steps=900)
    shown = [(str(group.task), group.shown) for group in compare([tmp_path]).groups]
    assert shown == [
        ("lbf", "gpl-q, 0.00015M steps"),
        ("lbf", "gpl-q, 0.0002M steps"),
        ("lbf", "gpl-q, 0.0009M steps, unfinished"),
        ("lbf", "gpl-q (envs 64, rank 2)"),
        ("lbf", "gpl-spi"),
        ("wolfpack", "gpl-q"),
    ]


def test_a_changed_control_field_is_named_under_the_nearest_preset(tmp_path):
    control = to_json(openteam.SoftPolicyIteration(openteam.Schedule(1.0, 0.5)))
    make_run(tmp_path / "run", [1.0], [1.0], learner=GPL_Q | {"control": control}, steps=1)
    (group,) = compare([tmp_path]).groups
    assert str(group.algorithm) == "gpl-spi (control.temperature.last 0.5)"


def test_an_algorithm_is_known_by_what_it_is_for_its_task():
    labels, task = Labels(), {"name": "fortattack-released"}
    released = to_json(openteam.make_algorithm("gpl-q-released", openteam.make("fortattack-released")))
    factored = to_json(openteam.GPL(head=openteam.CoordinationGraph(openteam.Factored())))
    found = [str(labels.algorithm(config, task)) for config in (released, released | {"envs": 8}, factored)]
    assert found == ["gpl-q-released", "gpl-q-released (envs 8)", "gpl-q-factored"]
    star, complete = openteam.Signed(openteam.Star(openteam.Factored())), openteam.Signed(openteam.Factored())
    heads = [openteam.CoordinationGraph(pairs, regulariser=0.5) for pairs in (star, complete)]
    assert [labels.algorithm(to_json(openteam.GPL(head=head)), task).name for head in heads] == ["ciao-s", "ciao-c"]
    published_rows = [published("fortattack-released", name, "larger") for name in ("gpl-q", *found[::2])]
    assert published_rows == [(14.20, 2.42)] * 3


def test_a_run_from_before_a_field_existed_has_its_default(tmp_path):
    old = {name: value for name, value in GPL_Q.items() if name in ("class", "control", "envs")}
    make_run(tmp_path / "1", [1.0], [1.0], learner=old, seed=0)
    make_run(tmp_path / "2", [1.0], [1.0], learner=GPL_Q, seed=1)
    assert [(group.shown, len(group.runs)) for group in compare([tmp_path]).groups] == [("gpl-q, unfinished", 2)]


def test_a_task_whose_parts_were_changed_is_another_task(tmp_path):
    other = dataclasses.replace(openteam.make("lbf"), horizon=7)
    make_run(tmp_path / "1", [1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    ones = [1.0, 1.0, 1.0]
    make_run(tmp_path / "2", ones, ones, changes={"task": to_json(other)})
    assert list(compare([tmp_path]).tasks) == ["lbf", "lbf (horizon 7)"]


def test_an_algorithm_of_ones_own_goes_by_its_class(tmp_path):
    make_run(tmp_path / "1", [1.0], [1.0], learner={"class": "my_worlds:Mine", "envs": 1}, steps=1)
    make_run(tmp_path / "2", [1.0], [1.0], learner={"class": "my_worlds:Mine", "envs": 2}, steps=1)
    shown = [group.shown for group in compare([tmp_path]).groups]
    assert shown == ["my_worlds:Mine, unfinished", "my_worlds:Mine (envs 2), unfinished"]


def test_a_repeated_seed_counts_once_and_is_named(tmp_path):
    make_run(tmp_path / "1", [1.0], [1.0])
    make_run(tmp_path / "2", [9.0], [9.0])
    found = compare([tmp_path, tmp_path / "1"])
    assert [len(group.runs) for group in found.groups] == [1]
    assert found.left_out == (f"{tmp_path / '2'} is left out: it repeats seed 0 of {tmp_path / '1'}.",)
