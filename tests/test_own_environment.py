"""docs/your-own-environment.md, as a user follows it: its files, snippets and commands, only shorter."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from openteam.storage.run_folder import RunFolder

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/your-own-environment.md").read_text()
SHORTER = {"--steps": "64", "--episodes": "4"}
QUICK = "--evaluation-episodes 4 --algorithm.envs 4 --algorithm.hidden 4 --algorithm.encoder-width 4"
LEARNER = "GPL(envs=4, hidden=4, encoder_width=4, forgets_unseen=True)"
WORKING = """
import json, sys
from openteam.cli import run
from openteam.garbage import collect_garbage_rarely
collect_garbage_rarely()  # as the command does
for kind, what in json.load(sys.stdin):
    print(kind, what, file=sys.stderr, flush=True)
    if kind == "snippet":
        exec(what, {})
    elif code := run(what):
        print("refused", code, file=sys.stderr, flush=True)
"""


RESUMING = """
import dataclasses, itertools, warnings
import openteam, rescue

task = dataclasses.replace(rescue.task(), splits={}, processes=1)
learner = openteam.LEARNER
rows = itertools.count()

def interrupt(progress):
    if progress.metrics and next(rows) == 2:
        raise KeyboardInterrupt

try:
    openteam.train(task, learner, steps=64, checkpoint_every=32, evaluation_episodes=4, out="cut",
                   report=interrupt)
except KeyboardInterrupt:
    print("interrupted")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    run = openteam.resume("cut")
print([str(one.message) for one in said])
print(run)
again = openteam.train(task, learner, steps=64, checkpoint_every=32, evaluation_episodes=4, out="whole")
once_more = openteam.train(task, learner, steps=64, checkpoint_every=32, evaluation_episodes=4, out="twice")
pairs = zip(again.folder.checkpoints, once_more.folder.checkpoints)
print("equal", [path.read_bytes() == other.read_bytes() for path, other in pairs])
""".replace("LEARNER", LEARNER)


def blocks(language):
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)
    return [code for named, code in fenced if named == language]


def commands():
    """All command lines, each as its words."""
    lines = "".join(blocks("")).splitlines()
    words = [shlex.split(line)[1:] for line in lines if line.startswith("openteam ")]
    assert len(words) == 5
    return [shorter(line) for line in words]


def shorter(words):
    """The same command with less to do; ``train`` also with a small network, one for all to compile it once."""
    words = shlex.split(re.sub(r"--compressed-from \S+", "", shlex.join(words)))
    words = [SHORTER.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    return [*words, *QUICK.split()] if words[0] == "train" else words


def shorter_code(code):
    code = code.replace('"gpl-q"', f"openteam.{LEARNER}")
    code = re.sub(r"\bsteps=[\d_]+", "steps=64, evaluation_episodes=4", code)
    return re.sub(r"\bepisodes=[\d_]+", "episodes=4", code)


@pytest.fixture(scope="module")
def followed(tmp_path_factory, users_env):
    """A folder in which somebody did all of it, and what was printed."""
    home = tmp_path_factory.mktemp("home")
    files = [code for code in blocks("python") if code.startswith("# rescue.py")]
    (home / "rescue.py").write_text("".join(files))
    snippets = [("snippet", shorter_code(code)) for code in blocks("python") if code not in files]
    assert len(files) == 2
    assert len(snippets) == 3
    refused = [
        "record runs/team --import rescue --out team.gif",
        "train rescue:Rescue gpl-q --import rescue",
        "train rescue:Rescue maddpg --learner me --task.cap 4 --import rescue",
    ]
    work = [*snippets[:1], *(("command", words) for words in commands()), *snippets[1:]]
    work += [("command", words.split()) for words in refused]
    work.append(("snippet", RESUMING))
    ran = subprocess.run(
        [sys.executable, "-c", WORKING], input=json.dumps(work), cwd=home, capture_output=True, text=True, timeout=900,
        env=users_env | {"PYTHONPATH": str(ROOT), "OPENTEAM_COMPILE": "quickest"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    return home, ran


def test_the_page_can_be_followed(followed):
    home, ran = followed
    assert ran.stdout.count("Finished: runs/") == 2
    assert "Finished before, nothing to do: runs/rescue" in ran.stdout
    assert re.search(r"rescue train: return .* \(4 episodes\)", ran.stdout)
    assert re.search(
        r"\d+ steps/s in training, compiling included, \d+ in the environment alone, on one core", ran.stdout
    )
    rows = RunFolder.open(home / "runs/team").rows("episodes.jsonl")
    assert {row["split"] for row in rows} == {"train", "long", "keen"}


def test_a_run_remembers_names_and_no_code(followed):
    home, _ = followed
    task = RunFolder.open(home / "runs/team").config["task"]
    assert (task["class"], task["env"], task["learner"]) == ("openteam:HostTask", "rescue:Rescue", "me")
    assert task["teammates"] == ["rescue:keen", "rescue:Wanderer"]
    assert task["splits"]["long"]["arguments"] == {"cells": 9}


def test_what_cannot_be_done_gets_a_sentence(followed):
    _, ran = followed
    assert ran.stderr.count("refused 2") == 3
    for sentence in (
        "'rescue' is an environment in plain Python, and this needs a task that openteam compiles",
        "which does not say who learns: add --learner",
        "MADDPG acts for everybody in a team, and in 'rescue', an environment in plain Python, the learner is one",
    ):
        assert sentence in ran.stderr, sentence


def test_an_interrupted_run_goes_on_in_new_episodes_and_says_so(followed):
    _, ran = followed
    assert "interrupted" in ran.stdout
    assert "rescue:Rescue cannot be put back where they were: all 4 begin new episodes" in ran.stdout
    assert re.search(r"Run\(.*/cut: GPL on 'rescue', seed 0, step 64; return train", ran.stdout)


def test_an_undisturbed_run_gives_the_same_files_again(followed):
    _, ran = followed
    assert "equal [True, True, True]" in ran.stdout
