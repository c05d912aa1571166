"""Fake runs with known returns: what is put together, at which checkpoint, and how it is shown."""

import csv
import re

import numpy as np
import pytest

import openteam
from openteam.analysis.compare import compare, overall, read_run
from openteam.cli import run
from openteam.errors import UserError
from openteam.rollout.episodes import Episodes
from openteam.storage.checkpoint import save_tree
from openteam.storage.config import to_json
from openteam.storage.run_folder import RunFolder

STEPS = (0, 100, 200)
TASKS = {name: to_json(openteam.make(name)) for name in ("lbf", "wolfpack")}
GPL_Q, GPL_SPI = (to_json(openteam.make_algorithm(name)) for name in ("gpl-q", "gpl-spi"))


def make_run(path, train, larger, *, task="lbf", learner=None, seed=0, steps=200, episodes=2, changes=None):
    """A run whose mean returns at steps 0, 100, ... are given; ``five`` and others score 0."""
    config = {
        "task": TASKS[task], "learner": learner or GPL_Q,
        "settings": {"steps": steps, "checkpoint_every": 100, "evaluation_episodes": episodes}, "seed": seed,
    } | (changes or {})  # fmt: skip
    folder = RunFolder.create(path, config)
    for number, means in enumerate(zip(train, larger, strict=True)):
        scores = dict.fromkeys(["train", *TASKS[task]["splits"]], 0.0) | dict(
            zip(("train", "larger"), means, strict=True)
        )
        for split, mean in scores.items():
            spread = np.linspace(-1, 1, episodes)
            rows = Episodes(mean + spread, np.ones(episodes, int)).rows(number * 100, split)
            folder.append("episodes.jsonl", rows)
        write_checkpoint(folder, number * 100)
    return folder


def write_checkpoint(folder, step):
    """One without a policy: it covers the rows that are there."""
    save_tree(folder.checkpoint(step), {}, {"kind": "policy", "step": step, "run": folder.coverage()})


@pytest.fixture
def three_seeds(tmp_path):
    """Seed 0 is best at step 200 and seed 1 at 0, but the mean over seeds is highest at step 100."""
    make_run(tmp_path / "a/seed-0", [0.0, 3.0, 4.0], [0.5, 1.0, 9.0], seed=0)
    make_run(tmp_path / "a/seed-1", [5.0, 4.0, 0.0], [0.5, 2.0, 9.0], seed=1)
    make_run(tmp_path / "a/seed-2", [0.0, 5.0, 2.0], [0.5, 3.0, 9.0], seed=2)
    return tmp_path


def test_the_best_checkpoint_is_that_of_the_mean_over_seeds_on_train(three_seeds):
    (group,) = compare([three_seeds]).groups
    assert group.chosen("best") == [100]
    mean, half = group.estimate("larger", "best")
    assert mean == pytest.approx(2)
    assert half == pytest.approx(4.302653 * 1 / 3**0.5, rel=1e-6)
    assert group.estimate("larger", "last")[0] == pytest.approx(9)
    assert group.episodes("best") == 6


def test_the_last_quarter_leaves_the_untrained_policy_out(tmp_path):
    values = [50.0, *map(float, range(1, 9))]
    make_run(tmp_path / "run", values, values, steps=800)
    (group,) = compare([tmp_path]).groups
    assert group.chosen("last-quarter") == [700, 800]
    assert group.estimate("train", "last-quarter")[0] == pytest.approx(7.5)


def test_the_last_quarter_counts_only_late_checkpoints_and_runs_are_averaged(tmp_path):
    for seed, late in enumerate((2.0, 4.0)):
        values = [late if step > 600 else -100.0 for step in range(0, 900, 100)]
        make_run(tmp_path / str(seed), values, values, seed=seed, steps=800, episodes=3)
    (group,) = compare([tmp_path]).groups
    assert group.scores("train", "last-quarter")[0] == pytest.approx(2.0)
    mean, half = group.estimate("train", "last-quarter")
    assert (mean, group.episodes("last-quarter")) == (pytest.approx(3.0), 12)
    assert half == pytest.approx(12.706 * 2**0.5 / 2**0.5, rel=1e-4)


def test_a_checkpoint_that_is_being_evaluated_does_not_count_yet(tmp_path):
    folder = make_run(tmp_path / "run", [1.0, 2.0], [1.0, 2.0], steps=200)
    folder.append("episodes.jsonl", Episodes(np.array([9.0, 9.0]), np.ones(2, int)).rows(200, "train"))
    with (folder.path / "episodes.jsonl").open("a") as file:
        file.write('{"step": 200, "spl')
    reading = read_run(folder.path)
    assert reading.returns["train"] == {0: 1, 100: 2}
    assert not reading.finished


def test_damaged_runs_are_named_and_the_others_compared(three_seeds, capsys):
    (three_seeds / "b").mkdir()
    (three_seeds / "b/config.json").write_text("{")
    torn = make_run(three_seeds / "c", [1.0], [1.0])
    torn.path.joinpath("episodes.jsonl").write_text('{"step"\n{}\n')
    RunFolder.create(three_seeds / "d", torn.config)
    assert run(["compare", str(three_seeds)]) == 0
    text = capsys.readouterr().out
    assert f"{three_seeds / 'b/config.json'} is damaged" in text
    assert f"{torn.path / 'episodes.jsonl'} is damaged: line 1" in text
    assert f"{three_seeds / 'd'} has no evaluated checkpoint yet." in text
    assert re.search(r"larger +gpl-q +2\.00 ± 2\.48 +2\.32 ± 0\.22 +3 +6", text)


def test_the_table_is_written_as_csv_and_markdown(three_seeds, capsys):
    files = [str(three_seeds / name) for name in ("x.csv", "x.md")]
    assert run(["compare", str(three_seeds / "a"), "--csv", files[0], "--markdown", files[1]]) == 0
    with open(files[0]) as file:
        rows = {row["split"]: row for row in csv.DictReader(file)}
    assert rows["larger"] | {"mean": "", "half_interval": ""} == {
        "task": "lbf", "task_changes": "", "algorithm": "gpl-q", "algorithm_changes": "", "split": "larger",
        "seeds": "3", "steps": "200", "finished": "True", "at": "best", "checkpoint": "100", "episodes": "6",
        "mean": "", "half_interval": "", "paper_mean": "2.32", "paper_half_interval": "0.22", "paper_caveat": "",
    }  # fmt: skip
    assert float(rows["larger"]["mean"]) == pytest.approx(2)
    assert float(rows["train"]["paper_mean"]) == pytest.approx(0.07 + 100 / 0.8e6 * (2.70 - 0.07))
    assert rows["train"]["paper_half_interval"] == ""
    with open(files[1]) as file:
        text = file.read()
    assert "| larger | gpl-q | 2.00 ± 2.48 | 2.32 ± 0.22 | 3 | 6 | 0.0001 / 0.0002M |" in text
    assert "highest mean return on train" in text


def test_one_seed_is_said_to_be_one(tmp_path, capsys):
    make_run(tmp_path / "run", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert run(["compare", str(tmp_path), "--csv", str(tmp_path / "x.csv")]) == 0
    assert re.search(r"train +gpl-q +3\.00 +0\.07 \(ε.* +one seed", capsys.readouterr().out)
    assert ",3.0,,0.07" in (tmp_path / "x.csv").read_text()


def test_the_released_stop_rule_is_shown_beside_the_fair_mean(three_seeds, capsys):
    assert run(["compare", str(three_seeds), "--released-rule"]) == 0
    text = capsys.readouterr().out
    assert "released" in text
    # All episodes of these runs are equally long, so both are the same but for the drawing.
    found = re.search(r"larger +gpl-q +(\S+) ± \S+ +(\S+) ± ", text)
    assert float(found[2]) == pytest.approx(float(found[1]), abs=0.1)


def test_algorithms_that_share_several_tasks_are_summed_up_over_them(tmp_path):
    for task, scale in (("lbf", 1.0), ("wolfpack", 10.0)):
        for seed in (0, 1):
            better, worse = [scale * (3 + seed)] * 3, [scale * (1 + seed)] * 3
            make_run(tmp_path / f"{task}-q-{seed}", better, better, task=task, seed=seed)
            make_run(tmp_path / f"{task}-spi-{seed}", worse, worse, task=task, seed=seed, learner=GPL_SPI)
    found = {(one.algorithm, one.split): one for one in overall(compare([tmp_path]), "best")}
    best, worst = found["gpl-q", "larger"], found["gpl-spi", "larger"]
    assert (best.middle, worst.middle) == pytest.approx((1, 0))
    assert best.low < 1 < best.high
    assert (best.tasks, best.scores) == (2, 4)


def test_one_task_alone_is_not_summed_up(three_seeds):
    assert overall(compare([three_seeds]), "best") == []


def test_learning_curves_of_one_task_are_one_picture(three_seeds):
    assert run(["compare", str(three_seeds), "--curves", str(three_seeds / "new/x.svg")]) == 0
    assert (three_seeds / "new/x.svg").stat().st_size > 5000


def test_learning_curves_of_several_tasks_are_a_picture_each_with_the_task_in_its_name(three_seeds, capsys):
    make_run(three_seeds / "wolfpack", [1.0, 2.0], [1.0, 2.0], task="wolfpack", steps=900)
    assert run(["compare", str(three_seeds), "--curves", str(three_seeds / "x.png")]) == 0
    pictures = sorted(path.name for path in three_seeds.glob("*.png"))
    assert pictures == ["x-lbf.png", "x-wolfpack.png"]
    assert all(name in capsys.readouterr().out.replace("\n", "") for name in pictures[:1])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["compare"], "needs runs"),
        (["compare", "nowhere"], "There is no run at nowhere"),
        (["compare", "."], "There is no run in ."),
        (["compare", "run", "--curves", "x.bmp"], "drawn as .png, .svg, .pdf; got x.bmp"),
        (["compare", "run", "--csv", "run/config.json/x.csv"], "Cannot write run/config.json/x.csv"),
        (["compare", "run", "--curves", "run/config.json/x.png"], "Cannot write run/config.json/x.png"),
    ],
)
def test_a_mistake_gets_one_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    if "run" in words:
        make_run(tmp_path / "run", [1.0], [1.0])
    assert run(words) == 2
    assert sentence in capsys.readouterr().err


def test_a_run_that_is_damaged_beyond_its_config_is_named(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"task": {}})
    write_checkpoint(folder, 0)
    with pytest.raises(UserError, match="lacks what every run has"):
        read_run(folder.path)
