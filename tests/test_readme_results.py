"""The README's results are those of the runs in results/."""

import runpy
from pathlib import Path

import pytest

GENERATE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "generate_readme.py"))
HINT = "run python docs/generate_readme.py"


@pytest.fixture(scope="module")
def evidence():
    return GENERATE["stored"]()


def test_readme_tables_are_those_of_the_stored_runs(evidence):
    readme = GENERATE["README"].read_text()
    assert readme == GENERATE["replaced"](readme, evidence), HINT


def test_readme_figure_shows_the_numbers_of_the_stored_runs(evidence):
    from PIL import Image

    with Image.open(GENERATE["FIGURE"]) as picture:
        assert picture.info["Description"] == GENERATE["digest"](evidence), HINT


def test_a_number_changed_by_hand_is_noticed(evidence):
    readme = GENERATE["README"].read_text()
    number = next(
        word for word in GENERATE["section"](evidence).split() if word.replace(".", "").isdigit() and "." in word
    )
    assert GENERATE["replaced"](readme.replace(number, "99.99"), evidence) != readme.replace(number, "99.99")
