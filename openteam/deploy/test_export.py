"""Exported files: what is in them, that they run without openteam, and what cannot be exported."""

import json
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import openteam
from openteam.core.memory import Memory
from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.deploy.agent import Agent
from openteam.deploy.conftest import FULL, new_policy, small
from openteam.deploy.export import FORMATS, export
from openteam.deploy.graph import graph_of
from openteam.deploy.interface import interface_of
from openteam.deploy.pure_step import PureStep
from openteam.errors import UserError
from openteam.registry import make_algorithm
from openteam.storage.seal import unsealed

WITHOUT = {"numpy": ["openteam", "jax", "onnxruntime"], "onnx": ["openteam", "jax"], "stablehlo": ["openteam"]}
"""What an export must run without."""
RUN = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[2:]))  # as if it were not installed
sys.path.insert(0, sys.argv[1])
import json, run
agent = run.Agent()
print(json.dumps([agent.act(*step) for step in json.load(sys.stdin)]))
"""
STEPS = [
    ({"me": [0, 1, 1], "ann": [2, 2, 2]}, [1, 2, 1]),
    ({"bob": [4, 3, 1], "me": [0, 1, 1], "ann": [2, 3, 2]}, [1, 2, 1]),
    ({"me": [1, 1, 1], "bob": [4, 4, 1]}, [1, 2, 1]),
    ({"me": [1, 2, 1], "ann": [2, 3, 2], "bob": [4, 4, 1]}, [0, 0, 0]),
]


@pytest.mark.parametrize("kind", FORMATS)
def test_an_export_runs_without_openteam_and_decides_alike(kind, run_folder, tmp_path):
    contract = export(run_folder, kind, tmp_path / "out", agents=4)
    words = [sys.executable, "-c", RUN, str(tmp_path / "out"), *WITHOUT[kind]]
    ran = subprocess.run(words, input=json.dumps(STEPS), capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    agent = Agent.load(run_folder)
    assert json.loads(ran.stdout) == [agent.act(*step) for step in STEPS]
    assert contract["agents"] == 4


def test_a_large_team_whose_messages_are_sorted_decides_alike(run_folder, tmp_path):
    words = [sys.executable, "-c", RUN, str(tmp_path / "out"), *WITHOUT["numpy"]]
    export(run_folder, "numpy", tmp_path / "out", agents=40)
    ran = subprocess.run(words, input=json.dumps(STEPS), capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    agent = Agent.load(run_folder)
    assert json.loads(ran.stdout) == [agent.act(*step) for step in STEPS]


def test_the_contract_says_what_every_number_means(run_folder, tmp_path):
    export(run_folder, "numpy", tmp_path / "out")
    path = tmp_path / "out" / "contract.json"
    contract = unsealed(path.read_bytes(), path)
    assert contract["agents"] == FULL.max_agents
    assert contract["actions"] == ["none", "north", "south", "west", "east", "load"]
    assert contract["features"]["agents"][2] == {"name": "level", "low": 1, "high": 2, "absent": 0, "unit": "none"}
    assert [entry["unit"] for entry in contract["features"]["agents"]] == ["cells", "cells", "none"]
    assert len(contract["features"]["shared"]) == 3
    shapes = {port["name"]: port["shape"] for port in contract["inputs"]}
    assert shapes["agents"] == [4, 3]
    with np.load(tmp_path / "out" / "start.npz") as start:
        assert {name: list(array.shape) for name, array in start.items()} == {
            name: shapes[name] for name in contract["memory"]["arrays"]
        }
    assert set(contract["files"]) == {"graph.json", "numbers.npz", "start.npz"}
    assert {"openteam", "jax", "numpy"} == contract["versions"].keys()
    assert len(contract["source"]["digest"]) == 64


def test_mistakes(run_folder, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="exported to onnx, stablehlo, numpy; got 'tflite'"):
        export(run_folder, "tflite", tmp_path / "out")
    with pytest.raises(UserError, match="agents must be at least 1; got 0"):
        export(run_folder, "numpy", tmp_path / "out", agents=0)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="already exists and is not empty"):
        export(run_folder, "numpy", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'openteam\[onnx\]'"):
        export(run_folder, "onnx", tmp_path / "out")
    assert not (tmp_path / "out").exists()


class Peculiar(AbstractMemoryless):
    """Decides by a function of its own."""

    function: object = eqx.field(static=True)

    def decide(self, key, memory: Memory, view: openteam.View) -> Decision:
        return Decision(self.function(key, view).astype(jnp.int32), memory, Explanation())


REFUSED = {
    "draws random numbers by 'random_bits'": lambda key, view: jax.random.bits(key) % 3,
    "computes 'sin'": lambda key, view: jnp.argmax(jnp.sin(view.obs.agents[0])),
    "computes 'while'": lambda key, view: jax.lax.while_loop(lambda x: x < 3, lambda x: x + 1, view.previous_action),
    "may lie outside": lambda key, view: view.obs.shared.at[view.previous_action].get(mode="fill"),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_exported_is_refused_in_a_sentence(sentence):
    with pytest.raises(UserError, match=sentence):
        graph_of(PureStep(Peculiar(REFUSED[sentence]), interface_of(FULL), 3))


def test_a_policy_for_teams_of_limited_size_is_not_exported_for_more(tmp_path):
    policy = new_policy(small(make_algorithm("maddpg", FULL)), FULL)
    with pytest.raises(UserError, match="at most 4 agents and the team has room for 5"):
        PureStep(policy, interface_of(FULL), 5)
