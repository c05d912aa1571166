"""The page on deploying: its snippets and commands run as written."""

import re
import shlex
import shutil
from pathlib import Path

from openteam.cli import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/deploying.md").read_text(encoding="utf-8")
RUN = "results/lbf/gpl-q/seed-0"


def test_what_the_page_says_can_be_done(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / RUN, tmp_path / RUN)
    monkeypatch.chdir(tmp_path)
    names = {}
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    for snippet in snippets:
        exec(snippet, names)
    assert len(snippets) == 2
    assert capsys.readouterr().out.split()[0] in names["agent"].actions
    commands = [shlex.split(line) for line in re.findall(r"^    (openteam .*)$", PAGE, re.M)]
    for words in commands:
        assert run(words[1:]) == 0
    assert len(commands) == 1
    assert (tmp_path / "forager/run.py").exists()
