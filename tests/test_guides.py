"""Guides as a user follows them, each in an empty folder: files, commands and snippets as written, only shorter.

Where a guide reads runs of a copy's ``results``, these are there. ``docs/first-run.md`` is followed in
``test_readme.py``, ``docs/your-own-environment.md`` in ``test_own_environment.py``.
"""

import shutil

import pytest

from tests.pages import ROOT, follow

SMALL = "--evaluation-episodes 4 --algorithm.envs 4 --algorithm.hidden 4 --algorithm.encoder-width 4"
SMALL_GPL = "openteam.GPL(envs=4, hidden=4, encoder_width=4)"
STORED = ("results/lbf", "results/full-observability/lbf-released/gpl-q", "results/full-observability/lbf-released/ql")


@pytest.fixture
def copy(tmp_path):
    """A folder with some of the stored runs."""
    for name in STORED:
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def test_an_algorithm_of_ones_own(tmp_path, users_env):
    """On a probe; the trainings on ``lbf`` are only read."""
    only_read = ("openteam train lbf ", "openteam compare ")
    follow("docs/your-own-algorithm.md", tmp_path, users_env, only_read=only_read)


def test_teammates_of_ones_own(tmp_path, users_env):
    follow("docs/your-own-teammates.md", tmp_path, users_env, few=SMALL)
    assert (tmp_path / "helped.gif").stat().st_size > 1000


def test_a_world_of_ones_own(tmp_path, users_env):
    follow("docs/your-own-world.md", tmp_path, users_env, few=SMALL, learner=SMALL_GPL)
    assert (tmp_path / "meeting.gif").stat().st_size > 1000


def test_reading_results(copy, users_env):
    ran = follow("docs/reading-results.md", copy, users_env)
    assert "larger 2." in ran.stdout
    assert {"curves.png", "report.html"} <= {path.name for path in copy.iterdir()}


def test_many_machines(tmp_path, users_env):
    """Slurm, Ray and a second host are not there: their commands are only read."""
    several_hosts = "openteam train lbf gpl-q --algorithm.envs 1024 --devices 16 --coordinator"
    only_read = ["openteam plan PLAN.toml --on", "openteam plan PLAN.toml --gpus", several_hosts]
    others = ("pip", "ray")
    follow("docs/many-machines.md", tmp_path, users_env, only_read=only_read, others=others)
    assert len(list(tmp_path.glob("runs/try/probe-match/gpl-q/seed-*/config.json"))) == 2


def test_deploying(copy, users_env):
    follow("docs/deploying.md", copy, users_env)
    assert (copy / "forager/run.py").exists()


@pytest.mark.parametrize("page", ["policy-in-your-loop", "gymnasium"])
def test_pages_with_snippets(copy, users_env, page):
    follow(f"docs/{page}.md", copy, users_env, others=("pip",))
