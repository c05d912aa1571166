"""The committed pages on observations are those that the code would write, and count as the features do."""

import runpy
from pathlib import Path

import pytest

from openteam.registry import make
from openteam.tasks import TASKS

PAGES = Path(__file__).parents[1] / "docs" / "observations"
GENERATE = runpy.run_path(str(PAGES / "generate.py"))
TITLES, layout_of, page = (GENERATE[name] for name in ("TITLES", "layout_of", "page"))
DOCUMENTED = [name for name in TASKS if name.split("-")[0] in TITLES and not name.endswith("-authors")]


@pytest.mark.parametrize("world", TITLES)
def test_a_committed_page_is_what_the_code_declares(world):
    assert (PAGES / f"{world}.md").read_text() == page(world), "run python docs/observations/generate.py"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_there_is_an_entry_for_every_feature_and_a_name_for_every_action(name):
    task = make(name)
    layout = layout_of(task)
    widths = len(layout.agents), len(layout.shared), len(layout.actions)
    assert widths == (task.spec.agent_features, task.spec.shared_features, task.world.actions)
