"""A world and teammates in a module of one's own, from the command line, as docs/your-own-world.md says."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openteam.execution.processes import cores
from openteam.storage.run_folder import RunFolder
from tests.pages import ROOT, write_files

SMALL = {"envs": 4, "encoder_width": 4, "hidden": 4}
FLAGS = [word for name, value in SMALL.items() for word in (f"--algorithm.{name.replace('_', '-')}", str(value))]
NUMBERS = {"steps": 6_400, "checkpoint_every": 3_200, "evaluation_episodes": 4}  # long enough to be hit by a signal
IMPORT = ["--import", "my_worlds"]


class Home:
    """A folder of the user's, and the installed command in it, which does not look for modules there by itself."""

    def __init__(self, path: Path):
        self.path = path
        write_files("docs/your-own-world.md", path)
        self.env = os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(path / "cache"), "COLUMNS": "400"}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "openteam", *words], env=self.env, cwd=self.path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str) -> str:
        """What a command prints that ends well."""
        process = self.start(*words)
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        return output

    def refusal(self, *words: str) -> str:
        """The one sentence of a command that cannot do what it should."""
        process = self.start(*words)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 2
        assert errors.count("\n") == 1
        return errors


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return Home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def killed(home):
    """A run in the user's world that was killed after its first checkpoint."""
    numbers = [word for name, value in NUMBERS.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    process = home.start("train", "my_worlds:meeting", "ql", *IMPORT, *FLAGS, *numbers, "--out", "runs/killed")
    while process.poll() is None and not (home.path / "runs/killed/train.jsonl").exists():
        time.sleep(0.005)
    process.kill()
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    return RunFolder.open(home.path / "runs/killed")


def test_a_run_remembers_the_names_of_the_users_classes(killed):
    task = killed.config["task"]
    assert (task["world"]["class"], task["class"]) == ("my_worlds:Meeting", "openteam:Task")
    assert task["pool"]["families"] == [{"class": "my_worlds:Wanderers", "names": ["wanderer"]}]


def test_a_command_without_import_says_what_to_add(home, killed):
    sentence = home.refusal("resume", str(killed.path))
    assert "my_worlds:Meeting, my_worlds:Wanderers are used here" in sentence
    assert "add --import my_worlds (in Python: import my_worlds)." in sentence


def test_a_killed_run_is_resumed_and_evaluated_and_equals_one_of_a_plan_with_two_workers(home, killed):
    assert "Finished" in home.run("resume", str(killed.path), *IMPORT)
    played = home.run("evaluate", str(killed.path), *IMPORT, "--episodes", "8")
    assert re.search(r"meeting train: return .* \(8 episodes\)", played)

    changes = {f"algorithm.{name}": value for name, value in SMALL.items()}
    plan = {"import": ["my_worlds"], "out": "runs/plan", "tasks": ["my_worlds:meeting"], "algorithms": ["ql"],
            "seeds": [0, 1], "set": changes} | NUMBERS  # fmt: skip
    (home.path / "plan.json").write_text(json.dumps(plan))
    home.run("plan", "plan.json", "--workers", str(min(2, len(cores()))))
    planned = [RunFolder.open(home.path / f"runs/plan/meeting/ql/seed-{seed}") for seed in (0, 1)]
    ours, others = ([path.read_bytes() for path in run.checkpoints] for run in planned)
    assert ours == [path.read_bytes() for path in killed.checkpoints]
    assert len(ours) == len(others) == 3
    assert ours != others


def test_a_class_that_cannot_be_found_again_is_refused_before_anything_is_written(home):
    source = "import my_worlds\nclass Meeting(my_worlds.Meeting): pass\n"
    source += "Meeting.__module__ = 'openteam'\nimport dataclasses\n"
    source += "task = dataclasses.replace(my_worlds.meeting(), world=Meeting())\n"
    (home.path / "impostor.py").write_text(source)
    sentence = home.refusal("train", "impostor:task", "ql", "--import", "impostor", "--out", "runs/impostor")
    assert "A class claims the name openteam:Meeting" in sentence
    assert not (home.path / "runs/impostor").exists()
