"""``openteam compare`` against one algorithm, by the clock, as profiles and for marl-eval."""

import json
import re

import numpy as np
import pytest

import openteam
from openteam.analysis.against import compare_against, find_reference, over_tasks
from openteam.analysis.compare import compare
from openteam.analysis.marl_eval import marl_eval_data
from openteam.analysis.wall_clock import time_task
from openteam.cli import run
from openteam.commands.sheets import figure
from openteam.commands.test_compare import GPL_Q, GPL_SPI, make_run, write_checkpoint
from openteam.errors import UserError
from openteam.storage.config import to_json

OURS = GPL_Q | {"envs": 25}  # a chunk of 100 steps, which checkpoints after 100 and 200 are multiples of
SAME_CHUNK, OTHER_CHUNK = GPL_SPI | {"envs": 25}, GPL_SPI | {"envs": 5}
MADDPG = to_json(openteam.make_algorithm("maddpg"))


def flat(value):
    return [float(value)] * 3


@pytest.fixture
def two(tmp_path):
    """GPL-Q's seeds 0, 1, 2 score 1, 2, 3 more than GPL-SPI's, which has a seed 7 that GPL-Q lacks."""
    for seed in (0, 1, 2):
        make_run(tmp_path / f"q-{seed}", flat(10 * seed + 1 + seed), flat(0), seed=seed)
    for seed in (0, 1, 2, 7):
        make_run(tmp_path / f"spi-{seed}", flat(10 * seed), flat(0), seed=seed, learner=GPL_SPI)
    return tmp_path


def test_differences_are_of_runs_with_the_same_seed(two, capsys):
    assert run(["compare", str(two), "--against", "gpl-spi"]) == 0
    text = capsys.readouterr().out
    half, effect = 4.302653 / 3**0.5, 2 / np.pi**0.5
    assert "lbf, against gpl-spi" in text
    assert re.search(rf"train +gpl-q +\+2\.00 ± {half:.2f} +\+{effect:.2f} +3 +0\.50 \(", text)
    assert re.search(r"larger +gpl-q +\+0\.00 ± 0\.00 +- +3 +0\.50 \(0\.50 to 0\.50\) +same", text)


def test_the_seeds_that_only_one_has_count_for_the_probability_alone(two):
    (found,) = [one for one in compare_against(compare([two]), "gpl-spi", "last") if one.split == "train"]
    assert found.difference.pairs == 3
    assert found.improvement.probability == pytest.approx(6 / 12)


def test_a_row_of_two_pairs_says_so_and_one_without_pairs_too(tmp_path, capsys):
    for seed in (0, 1):
        make_run(tmp_path / f"q-{seed}", flat(seed), flat(0), seed=seed)
        make_run(tmp_path / f"spi-{seed}", flat(3), flat(0), seed=seed, learner=GPL_SPI)
        make_run(tmp_path / f"maddpg-{seed}", flat(3), flat(0), seed=seed + 5, learner=MADDPG)
    assert run(["compare", str(tmp_path), "--against", "gpl-q"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"train +gpl-spi +\+2\.50 ± 6\.35 +- +two seeds +1\.00 +same", text)
    assert re.search(r"train +maddpg +- +- +none +1\.00 +other", text)
    assert re.search(r"train +gpl-q +0\.50 ± 6\.35 .* two seeds", text)


def settings(paired, steps=200):
    chosen = {"steps": steps, "checkpoint_every": 100, "evaluation_episodes": 2}
    return {"settings": chosen | ({} if paired is None else {"paired_evaluation": paired})}


@pytest.mark.parametrize(
    ("paired", "learner", "at", "same"),
    [
        ((None, None), SAME_CHUNK, "last", True),  # from before there was a choice, but with equal updates
        ((None, None), OTHER_CHUNK, "last", False),
        ((True, True), OTHER_CHUNK, "last", True),
        ((True, None), SAME_CHUNK, "last", False),
        ((True, True), SAME_CHUNK, "best", False),  # they are best at other checkpoints
    ],
)
def test_episodes_are_known_to_be_the_same_or_not(tmp_path, paired, learner, at, same):
    ours, theirs = ([1.0, 2.0, 3.0], [1.0, 2.0, 1.0])
    make_run(tmp_path / "1", ours, ours, learner=OURS, changes=settings(paired[0]))
    make_run(tmp_path / "2", theirs, theirs, learner=learner, changes=settings(paired[1]))
    found = compare_against(compare([tmp_path]), "gpl-q", at)
    assert {one.same_episodes for one in found} == {same}


def test_an_algorithm_is_found_by_its_plain_name_unless_several_have_it(tmp_path):
    for number, envs in enumerate((8, 32)):
        make_run(tmp_path / str(number), flat(1), flat(1), learner=GPL_Q | {"envs": envs})
    groups = compare([tmp_path]).groups
    assert find_reference(groups[:1], "gpl-q", "lbf") is groups[0]
    assert find_reference(groups, "gpl-q (envs 32)", "lbf") is groups[0 if "32" in groups[0].shown else 1]
    assert find_reference(groups, "ql", "lbf") is None
    with pytest.raises(UserError, match=r"several algorithms on lbf: 'gpl-q \(envs"):
        find_reference(groups, "gpl-q", "lbf")


def test_several_tasks_are_summed_up_in_one_probability(tmp_path):
    for task, better in (("lbf", 1.0), ("wolfpack", -1.0)):
        for seed in (0, 1, 2):
            make_run(tmp_path / f"{task}-{seed}", flat(better), flat(9), task=task, seed=seed)
            make_run(tmp_path / f"{task}-{seed}-spi", flat(0), flat(0), task=task, seed=seed, learner=GPL_SPI)
    rows = over_tasks(compare_against(compare([tmp_path]), "gpl-spi", "last"), "last")
    found = {row.split: (row.algorithm, row.tasks, row.improvement.probability) for row in rows}
    assert found["train"] == ("gpl-q", 2, 0.5)
    assert found["larger"] == ("gpl-q", 2, 1)


def timed_run(path, values, seconds, **rest):
    """A run whose stretches of 100 steps took these seconds each."""
    folder = make_run(path, values, values, **rest)
    folder.append("train.jsonl", [{"step": 100 * (n + 1), "seconds": s} for n, s in enumerate(seconds)])
    write_checkpoint(folder, 100 * len(seconds))


def test_the_slower_algorithm_stands_with_what_it_had_by_then(tmp_path, capsys):
    timed_run(tmp_path / "fast", [1.0, 2.0, 3.0], [1800.0, 1800.0])
    timed_run(tmp_path / "slow", [1.0, 5.0, 9.0], [3600.0, 3600.0], learner=GPL_SPI)
    fast, slow = (one for one in time_task(compare([tmp_path]), "lbf", 1.0) if one.split == "train")
    assert (fast.at_step.tolist(), slow.at_step.tolist()) == ([3], [9])
    assert (fast.at_hours.tolist(), slow.at_hours.tolist()) == ([3], [5])
    assert (fast.reached, slow.reached) == ((200,), (100,))
    assert run(["compare", str(tmp_path), "--at-hours", "1"]) == 0
    assert re.search(r"train +gpl-spi +9\.00 +5\.00 +0\.0001M +2\.00 +one seed", capsys.readouterr().out)


def test_the_same_steps_are_those_that_the_shortest_has(tmp_path):
    timed_run(tmp_path / "long", [1.0, 2.0, 3.0], [1.0, 1.0])
    timed_run(tmp_path / "short", [1.0, 5.0], [1.0], learner=GPL_SPI, steps=100)
    found = [one for one in time_task(compare([tmp_path]), "lbf", 1.0) if one.split == "train"]
    assert [(one.step, one.at_step.tolist()) for one in found] == [(100, [2]), (100, [5])]


def test_marl_eval_finds_every_episode(two, capsys):
    assert run(["compare", str(two), "--at", "last", "--json", str(two / "x.json")]) == 0
    data = json.loads((two / "x.json").read_text())
    run_1 = data["foraging"]["lbf/train"]["gpl-q"]["run_1"]
    assert list(run_1) == ["step_0", "step_1", "step_2", "absolute_metrics"]
    assert run_1["step_1"] == {"step_count": 100, "return": [11, 13], "length": [1, 1]}
    assert run_1["absolute_metrics"] == {"return": [11, 13], "length": [1, 1]}
    assert set(data["foraging"]) == {"lbf/train", "lbf/larger", "lbf/five"}
    assert data == json.loads(json.dumps(marl_eval_data(compare([two]), "last")))


def test_profiles_are_drawn_of_one_task_and_of_several(two):
    assert run(["compare", str(two), "--profile", str(two / "one.svg")]) == 0
    make_run(two / "w-q", flat(1), flat(0), task="wolfpack")
    make_run(two / "w-spi", flat(2), flat(0), task="wolfpack", learner=GPL_SPI)
    assert run(["compare", str(two), "--profile", str(two / "several.svg")]) == 0
    texts = [(two / name).read_text() for name in ("one.svg", "several.svg")]
    assert ["scaled per task" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--against", "gpl"], "There is no algorithm 'gpl' among these runs. There are: 'gpl-q'"),
        (["--at-hours", "0"], "--at-hours must be more than 0 hours; got 0"),
        (["--at-hours", "1"], "does not say how long its training took"),
        (["--profile", "x.bmp"], "drawn as .png, .svg, .pdf; got x.bmp"),
        (["--profile", "x.png"], "at least two finished algorithms"),
    ],
)
def test_a_mistake_gets_one_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "run", flat(1), flat(1))
    assert run(["compare", "run", *words]) == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")


def test_a_mean_that_rounds_to_zero_has_no_sign():
    assert figure(-0.004, 0.1) == "0.00 ± 0.10"
    assert figure(-0.006, float("nan")) == "-0.01"
