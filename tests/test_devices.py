"""A run whose environments are spread over two devices is the run of one device, up to rounding."""

import socket
import subprocess
import sys

import numpy as np
import pytest

from openteam.cli import run
from openteam.storage.checkpoint import read_arrays
from openteam.storage.run_folder import RunFolder

SMALL = {"envs": 4, "encoder-width": 8, "hidden": 8, "type-size": 8}
FLAGS = [word for name, value in SMALL.items() for word in (f"--algorithm.{name}", str(value))]
WORDS = ["probe-match", "gpl-q", "--steps", "640", "--evaluation-episodes", "4", *FLAGS]


@pytest.fixture(scope="module")
def runs(tmp_path_factory, users_env):
    """The same run twice: on one device, and by a command on two."""
    home = tmp_path_factory.mktemp("devices")
    assert run(["train", *WORDS, "--out", str(home / "one")]) == 0
    command = [sys.executable, "-m", "openteam", "train", *WORDS, "--devices", "2", "--out", str(home / "two")]
    process = subprocess.run(command, env=users_env, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[-2000:]
    return RunFolder(home / "one"), RunFolder(home / "two")


def test_it_learns_the_same(runs):
    one, two = (read_arrays(folder.checkpoints[-1]) for folder in runs)
    first = read_arrays(runs[0].checkpoints[0])
    for name, array in one.items():
        np.testing.assert_allclose(two[name], array, atol=2e-6)
    assert max(np.abs(array - first[name]).max() for name, array in one.items() if array.size) > 1e-3


def test_its_state_says_on_how_many(runs):
    assert [folder.header(folder.state)["devices"] for folder in runs] == [1, 2]


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def test_two_processes_with_a_device_each_are_one_process_with_two(runs, tmp_path, users_env):
    shared = ["--devices", "2", "--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2"]
    commands = [
        [sys.executable, "-m", "openteam", "train", *WORDS, *shared, "--process", number, "--out", f"by-{number}"]
        for number in ("0", "1")
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    started = [subprocess.Popen(command, cwd=tmp_path, env=users_env, **pipes) for command in commands]
    said = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], "\n".join(said)[-4000:]
    assert [path.name for path in tmp_path.iterdir()] == ["by-0"]  # the other one writes nothing
    alone, shared = runs[1], RunFolder(tmp_path / "by-0")
    for name, array in read_arrays(alone.state).items():
        np.testing.assert_allclose(read_arrays(shared.state)[name], array, atol=2e-6)
    assert [path.name for path in shared.checkpoints] == [path.name for path in alone.checkpoints]


@pytest.mark.parametrize(("flags", "sentence"), [
    (["--processes", "2"], "needs all of --coordinator HOST:PORT"),
    (["--coordinator", "here", "--processes", "2", "--process", "0"], "must be HOST:PORT"),
    (["--coordinator", "here:1", "--processes", "2", "--process", "2"], "--process must"),
    (["--devices", "3", "--coordinator", "here:1", "--processes", "2", "--process", "0"], "evenly over 2 processes"),
    (["--devices", "3"], "4 environments cannot be spread evenly over 3 devices"),
    (["--devices", "0"], "--devices must"),
])  # fmt: skip
def test_numbers_that_make_no_sense_get_a_sentence(tmp_path, users_env, flags, sentence):
    command = [sys.executable, "-m", "openteam", "train", *WORDS, *flags, "--out", "run"]
    process = subprocess.run(command, cwd=tmp_path, env=users_env, capture_output=True, text=True)
    assert process.returncode == 2
    assert sentence in process.stderr
    assert not (tmp_path / "run").exists()
