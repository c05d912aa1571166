"""What is installed is whole, without the source around: commands, the page, and versions that were tested.

Here a new environment gets the wheel alone and borrows what it depends on; ``make wheel`` installs that, too.
"""

import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
SERVES = """
import openteam.viewer.page_files as files
from openteam.viewer.page_files import page_files, served_page
assert files.__file__.startswith({where!r}), files.__file__
assert {{"watch.html", "watch.js", "style.css", "gallery.html"}} <= page_files().keys()
print(len(page_files()), len(served_page("watch.html")[0]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pytest.importorskip("hatchling", reason="hatchling, which builds wheels, is not installed")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def test_a_wheel_has_every_file_of_the_page_and_no_test(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    page = {f"openteam/viewer/page/{path.name}" for path in (ROOT / "openteam/viewer/page").iterdir()}
    assert len(page) > 20
    assert page <= names
    assert not [name for name in names if Path(name).name.startswith(("test_", "conftest"))]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The Python of a new environment that has the wheel, in a folder of its own."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home / "venv", with_pip=False)
    python = home / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", str(wheel)], check=True, capture_output=True)
    (packages,) = (home / "venv/lib").glob("python*/site-packages")
    # A path in such a file is only looked through: what else is installed there, as this source, stays unknown.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def said(*words):
    """What a command prints in an empty folder."""
    folder = Path(words[0]).parents[2]
    ran = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_an_installed_wheel_serves_the_page(installed):
    said(installed, "-c", SERVES.format(where=str(installed.parents[1])))


def test_an_installed_wheel_has_the_command(installed):
    command = installed.with_name("openteam")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert said(command, "--version").startswith(f"openteam {version}")
    assert "gpl-q" in said(command, "list")


def test_an_installed_wheel_has_teammates_and_tasks(installed):
    code = "import openteam; task = openteam.make('lbf'); print(openteam.__file__, *task.pool.names)"
    where, *types = said(installed, "-c", code).split()
    assert where.startswith(str(installed.parents[1]))
    assert {"H1", "ac"} <= set(types)  # a script, and a network that is read from a file


def test_versions_that_were_tested_are_allowed_and_the_newest_of_jax_is_the_bound():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
    tested = {name.lower(): version for name, version in (line.split("==") for line in lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {one.name.lower(): one.specifier for one in map(Requirement, project["dependencies"])}
    assert all(specifier.contains(tested[name]) for name, specifier in needed.items())
    major, minor, *_ = map(int, tested["jax"].split("."))
    assert not needed["jax"].contains(f"{major}.{minor + 1}.0")
