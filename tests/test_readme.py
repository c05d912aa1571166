"""Commands and snippets of the pages run as written, only shorter, in a process like a user's.

What is shortened: the number after ``--steps`` or ``--episodes`` and the values of ``steps=`` and ``episodes=``
(``SHORTER``); evaluations during training play ``FEW`` episodes; plans are a dry run. The first training is run, other
``train`` commands are only read, and committed runs stand for what they would make (``STANDS_FOR``). ``results`` holds
two of the committed tasks. Whatever cannot run here (``UNTRIED``) is looked at for names that do not exist. ``watch``
serves until it is stopped: its page is fetched, and then it is.
"""

import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest

from openteam.cli import parse
from openteam.execution.estimate import measured_speeds, seconds_for, wall_clock
from openteam.execution.plan import read_plan

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/policy-in-your-loop.md", "docs/glossary.md")
SHORTER = {"--steps": "64", "--episodes": "4"}
FEW = "4"
MOST_SECONDS = 1800  # what never ends is a mistake
STANDS_FOR = {"PART": "results/partial-observability/lbf-partial-released/ae-gpl/seed-0"}
SERVED = "results/lbf/gpl-q/seed-0"
UNTRIED = ("openteam bench",)
RUNNER = """
import json, sys
from openteam.cli import run
from openteam.garbage import collect_garbage_rarely
collect_garbage_rarely()  # as the command does
names = {}
for kind, what in json.load(sys.stdin):
    print(kind, what, file=sys.stderr, flush=True)
    if kind == "snippet":
        exec(what, names)
        continue
    try:
        code = run(what)
    except SystemExit as end:  # help ends the program
        code = end.code or 0
    if code:
        sys.exit(code)
"""


def blocks(page, language):
    """The code blocks of a page in one language; commands have none."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
    return [code for named, code in fenced if named == language]


def commands(page):
    """All command lines of a page, each without its comment."""
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    return [shlex.join(shlex.split(line, comments=True)) for line in lines if line.strip()]


def ours():
    """The words of all commands of the README that can be tried here."""
    return [shlex.split(line)[1:] for line in commands("README.md") if line.startswith("openteam ")
            and line not in UNTRIED]  # fmt: skip


def servers():
    """All commands of the README that serve a page until they are stopped."""
    return [words for words in ours() if words[0] == "watch"]


def trainings():
    """All ``train`` commands of the README."""
    return [words for words in ours() if words[0] == "train" and "--help" not in words]


def shorter(words):
    """The same command with less to do."""
    shorter = SHORTER | ({"--episodes": "0"} if words[0] == "teammates" else {})  # nine types to compile for
    words = [
        min(word, shorter[before], key=float) if before in shorter else word
        for before, word in zip(["", *words], words, strict=False)
    ]
    if words[0] == "train" and "--help" not in words:
        return [*words, "--evaluation-episodes", FEW]
    return [*words, "--dry-run"] if words[0] == "plan" and "--dry-run" not in words else words


def shorter_code(code):
    """The same snippet with less to do."""
    code = re.sub(r"\bsteps=[\d_]+", f"steps={SHORTER['--steps']}, evaluation_episodes={FEW}", code)
    code = re.sub(r"^(print\(openteam\.evaluate\((?:(?!episodes=).)+)\)\)$", r"\1, episodes=480))", code, flags=re.M)
    return re.sub(r"\bepisodes=[\d_]+", f"episodes={SHORTER['--episodes']}", code)


def try_all(folder, work, users_env):
    """Do it in a fresh process, in a folder that has what the pages refer to."""
    for name in ("results/lbf", "results/wolfpack", "plans"):
        shutil.copytree(ROOT / name, folder / name)
    for name, run_folder in STANDS_FOR.items():
        shutil.copytree(ROOT / run_folder, folder / name)
    words = [sys.executable, "-c", RUNNER]
    env = users_env | {"PYTHONPATH": str(ROOT), "OPENTEAM_COMPILE": "quickest"}  # this source, wherever it is installed
    given = {"input": json.dumps(work), "cwd": folder, "env": env, "timeout": MOST_SECONDS}
    process = subprocess.run(words, capture_output=True, text=True, **given)
    assert process.returncode == 0, process.stderr[-3000:]


def test_there_is_something_to_try():
    assert sum(len(commands(page)) for page in PAGES) > 15
    assert sum(len(blocks(page, "python")) for page in PAGES) == 4
    assert len(trainings()) > 1


def test_every_command_and_snippet_of_the_readme_runs(tmp_path, users_env):
    left_out = trainings()[1:] + servers()
    work = [("command", shorter(words)) for words in ours() if words not in left_out]
    work.append(("snippet", "import shutil; shutil.rmtree('RUN')"))  # the snippet makes it again
    work += [("snippet", shorter_code(code)) for code in blocks("README.md", "python")]
    try_all(tmp_path, work, users_env)
    made = {"hunt.gif", "episode.gif", "belief.gif", "beliefs.png", "curves-lbf.png", "curves-wolfpack.png"}
    assert made <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("words", servers(), ids=shlex.join)
def test_pages_of_the_readme_open(tmp_path, words):
    shutil.copytree(ROOT / SERVED, tmp_path / "RUN")
    command = [sys.executable, "-P", "-m", "openteam", *words, "--no-browser"]
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


def test_the_snippets_of_the_page_on_loops_run(tmp_path, users_env):
    snippets = [("snippet", shorter_code(code)) for code in blocks("docs/policy-in-your-loop.md", "python")]
    try_all(tmp_path, snippets, users_env)


def test_the_snippets_of_the_page_on_gymnasium_run(tmp_path, users_env):
    snippets = blocks("docs/gymnasium.md", "python")
    assert len(snippets) == 5
    try_all(tmp_path, [("snippet", code) for code in snippets], users_env)


def test_trainings_that_are_not_run_can_be_read():
    for words in trainings()[1:]:
        assert callable(parse(words[0], words[1:]))


def test_what_is_not_tried_here_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in commands("README.md"):
        words = shlex.split(line)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), line
        elif words[0] == "pip":
            assert re.fullmatch(r"\.\[(\w+)\]", words[-1])[1] in extras
        elif line in UNTRIED:
            assert callable(parse(words[1], words[2:]))
        else:
            assert words[0] in ("openteam", "git"), line


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), ROOT / "results/README.md"]:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page}: {link}"


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
