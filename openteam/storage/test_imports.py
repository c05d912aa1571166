"""Modules that the user names: found in the current folder, and what is wrong with them said in a sentence."""

import sys

import pytest

from openteam.errors import UserError
from openteam.storage.imports import import_modules


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder that Python does not look in, as an installed command leaves it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    return tmp_path


def test_a_module_of_the_current_folder_is_imported(folder):
    (folder / "my_mazes").mkdir()
    (folder / "my_mazes/walls.py").write_text("height = 3")
    import_modules(["my_mazes.walls"])
    assert sys.modules["my_mazes.walls"].height == 3


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("my_wordls", "There is no module 'my_wordls', neither in .* nor installed"),
        ("my_worlds.py", "no module's name.* my_worlds, not my_worlds.py"),
        ("./my_worlds", "no module's name"),
        (
            "incomplete",
            r"incomplete cannot be imported: ModuleNotFoundError: No module named 'absent'.*incomplete\.py, line 2",
        ),
        ("wrong", r"wrong cannot be imported: ZeroDivisionError: division by zero \(.*wrong\.py, line 1\)"),
        ("garbled", r"garbled cannot be imported: SyntaxError: .*\(garbled\.py, line 1\)\.$"),
    ],
)
def test_a_module_that_cannot_be_imported_gets_one_sentence(folder, name, sentence):
    (folder / "my_worlds.py").write_text("")
    (folder / "incomplete.py").write_text("\nimport absent")
    (folder / "wrong.py").write_text("1 / 0")
    (folder / "garbled.py").write_text("def")
    with pytest.raises(UserError, match=sentence):
        import_modules([name])
