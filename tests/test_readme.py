"""Commands and snippets of the README, of the first guide and of the notebook, as ``tests/pages.py`` follows them.

All in one process, since they share programs that take long to compile. The first training of the README is run, other
``train`` commands are only read; plans are a dry run; committed runs stand for what would take long to make
(``STANDS_FOR``), and ``results`` holds two of the committed tasks. Whatever cannot run here (``UNTRIED``) is looked at
for names that do not exist. ``watch`` serves until it is stopped: its page is fetched, and then it is.
"""

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request

import pytest

from openteam.cli import parse
from openteam.execution.estimate import measured_speeds, seconds_for, wall_clock
from openteam.execution.plan import read_plan
from tests.pages import ROOT, SHORTER, blocks_in, cells, check_seen, commands, do, shorter, shorter_code, work_of

FIRST, NOTEBOOK = "docs/first-run.md", "docs/notebook.ipynb"
STANDS_FOR = {"PART": "results/partial-observability/lbf-partial-released/ae-gpl/seed-0"}
SERVED = "results/lbf/gpl-q/seed-0"
UNTRIED = ("openteam bench",)
ANEW = ("snippet", "import shutil; shutil.rmtree('RUN')")  # what comes next makes it again


def lines():
    """The words of every command of the README."""
    return [words for block in blocks_in("README.md", "") for words in commands(block)]


def ours():
    """Those of openteam that can be tried here."""
    return [words for words in lines() if words[0] == "openteam" and shlex.join(words) not in UNTRIED]


def servers():
    """All commands of the README that serve a page until they are stopped."""
    return [words for words in ours() if words[1] == "watch"]


def trainings():
    """All ``train`` commands of the README."""
    return [words for words in ours() if words[1] == "train" and "--help" not in words]


def quick(words):
    """The same command with less to do: no skills, which compile for nine types, and no plans."""
    words = shorter(words)
    if words[1] == "teammates":
        words[words.index("--episodes") + 1] = "0"
    return [*words, "--dry-run"] if words[1] == "plan" and "--dry-run" not in words else words


def python(codes):
    """Snippets with less to do, also where they do not say how much."""
    short = map(shorter_code, codes)
    implied = re.compile(r"^(print\(openteam\.evaluate\((?:(?!episodes=).)+)\)\)$", re.M)
    return [("snippet", implied.sub(rf"\1, episodes={SHORTER['episodes']}))", code)) for code in short]


def plain(kind, what):
    """The same command without settings of the algorithm, which would be another program to compile; they are read."""
    if "--algorithm.mask-illegal" in what:
        assert callable(parse(what[0], what[1:]))
        what = shlex.split(re.sub(r"--algorithm\.\S+( [\d.e-]+(?= ))?", "", shlex.join(what)))
    return kind, what


def stock(folder):
    """Put there what the pages refer to."""
    for name in ("results/lbf", "results/wolfpack", "plans"):
        shutil.copytree(ROOT / name, folder / name)
    for name, run_folder in STANDS_FOR.items():
        shutil.copytree(ROOT / run_folder, folder / name)


def test_there_is_something_to_try():
    assert len(lines()) > 15
    assert len(blocks_in("README.md", "python")) == 2
    assert len(trainings()) > 1
    assert len(cells(NOTEBOOK)) > 5


def test_the_readme_the_first_run_and_the_notebook_can_be_followed(tmp_path, users_env):
    stock(tmp_path)
    left_out = trainings()[1:] + servers()
    readme = [("command", quick(words)[1:]) for words in ours() if words not in left_out]
    readme += [ANEW, *python(blocks_in("README.md", "python")), ANEW]
    first = [plain(*one) for one in work_of(FIRST, others=("python3", ".", "pip"))]
    notebook = [code.replace("learner, steps", '"gpl-q", steps') for code in cells(NOTEBOOK)]
    ran = do([*readme, *first, ANEW, *python(notebook)], tmp_path, users_env)
    check_seen(FIRST, ran.stdout + ran.stderr)
    made = {"hunt.gif", "episode.gif", "belief.gif", "beliefs.png", "curves-lbf.png", "curves-wolfpack.png",
            "random.gif", "why.html"}  # fmt: skip
    assert made <= {path.name for path in tmp_path.iterdir()}
    assert "<iframe" in ran.stdout  # the notebook's last cell


def test_the_notebook_is_kept_without_what_it_shows():
    content = (ROOT / NOTEBOOK).read_text(encoding="utf-8")
    assert content.count('"outputs": []') == content.count('"execution_count": null') == len(cells(NOTEBOOK))


@pytest.mark.parametrize("words", servers(), ids=shlex.join)
def test_pages_of_the_readme_open(tmp_path, words):
    shutil.copytree(ROOT / SERVED, tmp_path / "RUN")
    command = [sys.executable, "-P", "-m", *words, "--no-browser"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            address = line.removeprefix("Watch at ").strip()
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"<title>" in answer.read()
        finally:
            server.terminate()


def test_trainings_that_are_not_run_can_be_read():
    for words in trainings()[1:]:
        assert callable(parse(words[1], words[2:]))


def test_what_is_not_tried_here_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for words in lines():
        line = shlex.join(words)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), line
        elif words[0] == "pip":
            assert re.fullmatch(r"\.\[(\w+)\]", words[-1])[1] in extras
        elif line in UNTRIED:
            assert callable(parse(words[1], words[2:]))
        else:
            assert words[0] in ("openteam", "git"), line


def test_the_plan_for_a_night_fits_eight_hours_of_two_cores():
    """At the speeds that the committed runs had on the processor they were made on.

    Those of GPL-Q have a factor per agent. With one per edge it is slower by an eighth in teams of three.
    """
    speeds = measured_speeds([ROOT / "results/full-observability"], "AMD EPYC")
    planned = read_plan(ROOT / "plans/tonight.toml")
    measured = [dataclasses.replace(run, algorithm=run.algorithm.replace("gpl-q", "gpl-q-factored")) for run in planned]
    without_memory = (("algorithm.forgets_unseen", False),)  # a setting that is newer than the runs
    times = [
        seconds_for(dataclasses.replace(run, changes=without_memory).config, run.settings.steps, speeds) * 9 / 8
        for run in measured
    ]
    assert 3 < wall_clock(times, 2) / 3600 < 6  # compiling, evaluating and a slow night come on top
