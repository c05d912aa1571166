"""``openteam beliefs`` on small runs: replayed, and as they were logged."""

import csv

import jax
import numpy as np
import pytest

from openteam.algorithms.belief_gpl import BeliefGPL
from openteam.algorithms.beliefs import Autoencoder
from openteam.cli import run
from openteam.compile_cache import once_jit
from openteam.core import random
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.recurrent import AutoencoderSizes
from openteam.models.joint_value import Factored
from openteam.probes import remember_teammate
from openteam.rollout.episodes import Episodes
from openteam.storage.config import to_json
from openteam.storage.policies import save_policy
from openteam.storage.run_folder import RunFolder

TINY = BeliefGPL(
    belief=Autoencoder(AutoencoderSizes(4, 4, 4, 4)), envs=2, utility_width=4, pairwise=Factored(2),
    agent_model=AgentModelSizes(4, 4, 4),
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two seeds, two checkpoints each, whose logged errors are 1, 2 and 3, 4."""
    task, path = remember_teammate(), tmp_path_factory.mktemp("runs")
    init = once_jit(lambda key: TINY.init(key, task.spec).model)
    for seed in (0, 1):
        settings = {"steps": 100, "checkpoint_every": 100, "evaluation_episodes": 1}
        config = {"task": to_json(task), "learner": to_json(TINY), "settings": settings, "seed": seed}
        folder = RunFolder.create(path / f"seed-{seed}", config)
        for number, key in enumerate(jax.random.split(random.key(seed), 2)):
            step = 100 * number
            folder.append("episodes.jsonl", Episodes(np.ones(1), np.ones(1, int)).rows(step, "train"))
            error = {"existence_error": 1.0 + 2 * seed + number}
            folder.append("beliefs.jsonl", [{"step": step, "split": "train"} | error])
            save_policy(
                folder.checkpoint(step), TINY, init(key), task=task.name, spec=task.spec, step=step,
                run=folder.coverage(),
            )  # fmt: skip
    return path


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_what_was_logged_is_shown_without_replaying_anything(runs, tmp_path, capsys):
    out = tmp_path / "new" / "rows.csv"
    assert run(["beliefs", str(runs), "--logged", "--csv", str(out)]) == 0
    assert [(row["seed"], row["step"], row["existence_error"]) for row in table(out)] == [
        ("0", "0", "1.0"), ("0", "100", "2.0"), ("1", "0", "3.0"), ("1", "100", "4.0"),
    ]  # fmt: skip
    assert table(out)[0]["seen_actions"] == ""
    assert "3.000" in capsys.readouterr().out  # the mean of both seeds' last


def test_every_checkpoint_is_judged_on_the_same_episodes_and_drawn(runs, tmp_path):
    out, picture = tmp_path / "rows.csv", tmp_path / "beliefs.svg"
    words = ["beliefs", str(runs), "--episodes", "2", "--csv", str(out), "--curves", str(picture)]
    assert run(words) == 0
    rows = table(out)
    assert [(row["seed"], row["step"]) for row in rows] == [("0", "0"), ("0", "100"), ("1", "0"), ("1", "100")]
    assert len({row["state"] for row in rows}) == 4
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "needs runs"),
        (["RUNS", "--episodes", "0"], "--episodes must be at least 1; got 0"),
        (["RUNS", "--curves", "x.doc"], "x.doc"),
        (["NOWHERE"], "NOWHERE"),
    ],
)
def test_mistakes_get_a_sentence(runs, words, message, capsys):
    words = [str(runs) if word == "RUNS" else word for word in words]
    assert run(["beliefs", *words]) != 0
    assert message in " ".join(capsys.readouterr().err.split())
