"""``openteam shots`` on a tiny run with two checkpoints, and its pictures."""

import csv

import jax
import numpy as np
import pytest

import openteam
from openteam.algorithms.gpl import GPL
from openteam.cli import run
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.drawing.shot_curves import draw_shots
from openteam.models.agent import AgentModelSizes
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.joint_value import Factored
from openteam.rollout.episodes import Episodes
from openteam.storage.config import to_json
from openteam.storage.policies import save_policy
from openteam.storage.run_folder import RunFolder

TINY = GPL(
    head=CoordinationGraph(Factored(2), width=4), agent_model=AgentModelSizes(4, 4, 4), envs=2, encoder_width=4,
    hidden=4, type_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def fort_run(tmp_path_factory):
    task, path = openteam.make("fortattack"), tmp_path_factory.mktemp("runs") / "run"
    settings = {"steps": 100, "checkpoint_every": 100, "evaluation_episodes": 1}
    config = {"task": to_json(task), "learner": to_json(TINY), "settings": settings, "seed": 0}
    folder = RunFolder.create(path, config)
    init = once_jit(lambda key: TINY.init(key, task.spec).model)
    for number, key in enumerate(jax.random.split(random.key(0), 2)):
        for split in task.split_names:
            folder.append("episodes.jsonl", Episodes(np.ones(1), np.ones(1, int)).rows(100 * number, split))
        save_policy(
            folder.checkpoint(100 * number), TINY, init(key), task=task.name, spec=task.spec, step=100 * number,
            run=folder.coverage(),
        )  # fmt: skip
    return path


def test_every_checkpoint_is_measured_and_drawn(fort_run, tmp_path, capsys):
    files = {name: str(tmp_path / name) for name in ("x.csv", "x.md", "x.svg")}
    words = ["--csv", files["x.csv"], "--markdown", files["x.md"], "--curves", files["x.svg"], "--episodes", "2"]
    assert run(["shots", str(fort_run), *words]) == 0
    with open(files["x.csv"]) as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["0", "100"]
    assert all(np.isfinite([float(row[name]) for name in ("return", "scenario_2", "value_2")]).all() for row in rows)
    assert "what a shot is worth" in capsys.readouterr().out
    assert "one seed" in (tmp_path / "x.md").read_text()
    assert (tmp_path / "x-utilities.svg").stat().st_size > 5000

    assert run(["shots", files["x.csv"], "--csv", str(tmp_path / "again.csv")]) == 0  # without the run
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "x.csv").read_bytes()
    (tmp_path / "x.csv").write_text((tmp_path / "x.csv").read_text().replace(",100,", ",many,"))
    assert run(["shots", files["x.csv"]]) == 2
    assert "is no table that openteam shots wrote" in capsys.readouterr().err


def test_single_checkpoints_are_dots_and_tasks_have_pictures_of_their_own(tmp_path):
    rows = [
        {"task": task, "algorithm": name, "seed": seed, "step": 100, "return": 1.0, "accuracy": 0.1 * seed}
        | {"value_1": 1.0, "value_2": 2.0}
        for task in ("one", "two")
        for name in ("ql", "gnn")
        for seed in (0, 1)
    ]
    names = [path.name for path in draw_shots(tmp_path / "x.png", rows)]
    assert names == ["x-one-accuracy.png", "x-one-values.png", "x-two-accuracy.png", "x-two-values.png"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["shots"], "needs runs"),
        (["shots", "nowhere"], "There is no run at nowhere"),
        (["shots", "nowhere.csv"], "There is no table at nowhere.csv"),
        (["shots", "{run}", "--episodes", "0"], "--episodes"),
        (["shots", "{run}", "--curves", "x.bmp"], "drawn as .png, .svg, .pdf; got x.bmp"),
    ],
)
def test_a_mistake_gets_one_sentence(fort_run, capsys, words, sentence):
    assert run([word.format(run=fort_run) for word in words]) == 2
    assert sentence in capsys.readouterr().err
