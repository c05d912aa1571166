"""Commands and snippets of the pages run as written, only shorter.

What is shortened: the number after ``--steps``, ``--episodes`` or ``--seeds`` and the values of ``steps=`` and
``episodes=`` (``SHORTER``); evaluations during training play ``FEW`` episodes; plans are a dry run. ``results``
holds two of the committed tasks. Whatever cannot run here (``UNTRIED``) is looked at for names that do not exist.
"""

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from openteam.cli import run

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/policy-in-your-loop.md", "docs/glossary.md")
SHORTER = {"--steps": "64", "--episodes": "4", "--seeds": "1"}
FEW = "4"
UNTRIED = ("openteam bench",)


def blocks(page, language):
    """The code blocks of a page in one language; commands have none."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
    return [code for named, code in fenced if named == language]


def commands(page):
    """All command lines of a page, each without its comment."""
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    return [" ".join(shlex.split(line, comments=True)) for line in lines if line.strip()]


def shorter(words):
    """The same command with less to do."""
    words = [SHORTER.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    asks = "--help" in words
    if words[0] == "train" and not asks:
        return [*words, "--evaluation-episodes", FEW]
    return [*words, "--dry-run"] if words[0] == "plan" and "--dry-run" not in words else words


def shorter_code(code):
    """The same snippet with less to do."""
    code = re.sub(r"\bsteps=[\d_]+", f"steps={SHORTER['--steps']}, evaluation_episodes={FEW}", code)
    return re.sub(r"\bepisodes=[\d_]+", f"episodes={SHORTER['--episodes']}", code)


def answer(words):
    """The exit code of a command; help ends the program."""
    try:
        return run(words)
    except SystemExit as end:
        return end.code or 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working copy with what the pages refer to."""
    for name in ("results/lbf", "results/wolfpack", "plans"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_something_to_try():
    assert sum(len(commands(page)) for page in PAGES) > 15
    assert sum(len(blocks(page, "python")) for page in PAGES) == 4


def test_every_command_of_the_readme_runs(folder, capsys):
    ours = [line for line in commands("README.md") if line.startswith("openteam ") and line not in UNTRIED]
    for line in ours:
        assert answer(shorter(shlex.split(line)[1:])) == 0, f"{line}: {capsys.readouterr().err}"
    made = {"hunt.gif", "episode.gif", "belief.gif", "beliefs.png", "curves-lbf.png", "curves-wolfpack.png"}
    assert made <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_the_snippets_of_a_page_run_one_after_the_other(folder, page):
    names = {}
    for code in blocks(page, "python"):
        exec(compile(shorter_code(code), page, "exec"), names)


def test_what_is_not_tried_here_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in commands("README.md"):
        words = shlex.split(line)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), line
        elif words[0] == "pip":
            assert re.fullmatch(r"pip install -e \.\[(\w+)\]", line)[1] in extras
        elif line in UNTRIED:
            assert answer([*words[1:], "--help"]) == 0
        else:
            assert words[0] in ("openteam", "git"), line


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), ROOT / "results/README.md"]:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page}: {link}"


def test_the_plan_for_a_night_fits_eight_hours_of_two_cores():
    """At the speeds that the committed runs had on the processor they were made on."""
    from openteam.execution.estimate import measured_speeds, seconds_for, wall_clock
    from openteam.execution.plan import read_plan

    speeds = measured_speeds([ROOT / "results/full-observability"], "AMD EPYC")
    times = [seconds_for(run.config, run.settings.steps, speeds) for run in read_plan(ROOT / "plans/tonight.toml")]
    assert 3 < wall_clock(times, 2) / 3600 < 6  # compiling, evaluating and a slow night come on top
