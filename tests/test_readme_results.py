"""The results in README and docs/findings.md are those of the runs in results/."""

import runpy
from pathlib import Path

import pytest

GENERATE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "generate_readme.py"))
HINT = "run python docs/generate_readme.py"


@pytest.fixture(scope="module")
def evidence():
    return GENERATE["stored"]()


@pytest.mark.parametrize("name", ["README", "FINDINGS"])
def test_tables_are_those_of_the_stored_runs(evidence, name):
    path = GENERATE[name]
    assert path.read_text() == GENERATE["pages"](evidence)[path], HINT


def test_readme_figure_shows_the_numbers_of_the_stored_runs(evidence):
    from PIL import Image

    with Image.open(GENERATE["FIGURE"]) as picture:
        assert picture.info["Description"] == GENERATE["digest"](evidence), HINT


def test_a_number_changed_by_hand_is_noticed(evidence):
    readme, section = GENERATE["README"].read_text(), GENERATE["section"](evidence)
    number = next(word for word in section.split() if word.replace(".", "").isdigit() and "." in word)
    changed = readme.replace(number, "99.99")
    assert GENERATE["replaced"](changed, section) != changed
