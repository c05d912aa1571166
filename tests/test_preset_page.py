"""The committed page on presets is what the code would write, and knows where each setting is from."""

import runpy
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "presets.md"
GENERATE = runpy.run_path(str(PAGE.with_name("generate_presets.py")))


def test_the_committed_page_is_what_the_presets_are():
    assert PAGE.read_text() == GENERATE["page"](), "run python docs/generate_presets.py"
