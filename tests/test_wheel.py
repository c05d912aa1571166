"""What is installed is whole: a wheel has the page, and a server of it shows it without the source around."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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


def test_an_installed_wheel_serves_the_page(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = SERVES.format(where=str(tmp_path))
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
