"""The oldest versions that pyproject.toml allows work together: ``make floors``.

Without a word this prints them, for pip to keep to. With ``try`` it trains, evaluates and lists with whatever is
installed.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRAIN = ("train", "probe-match", "gpl-q", "--steps", "128", "--checkpoint-every", "64", "--evaluation-episodes", "4")


def floors() -> list[str]:
    """``name>=version`` of every dependency as ``name==version``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [re.sub(">=", "==", dependency, count=1) for dependency in project["dependencies"]]


def try_commands() -> None:
    """What a user does first; a command that fails ends this one."""
    with tempfile.TemporaryDirectory() as home:
        for words in (("--version",), ("list",), (*TRAIN, "--out", "RUN"), ("resume", "RUN"), ("evaluate", "RUN")):
            subprocess.run([sys.executable, "-m", "openteam", *words], cwd=home, check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["try"]:
        try_commands()
    else:
        print("\n".join(floors()))
