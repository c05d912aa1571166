"""Where and with what a run was made."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any


def about() -> dict[str, Any]:
    """What goes into about.json."""
    packages = ("openteam", "jax", "jaxlib", "equinox", "optax", "numpy")
    return {
        "command": [program_name(), *sys.argv[1:]],
        "commit": commit(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
        "machine": {"system": platform.system(), "cpu": cpu_model(), "cores": os.cpu_count()},
    }


def commit() -> str | None:
    """The commit of the source this runs from, with a + if it was changed since; None for an installed package."""
    source = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(source), *words], capture_output=True, text=True, check=True).stdout

    try:
        if Path(git("rev-parse", "--show-toplevel").strip()) != source:
            return None
        return git("rev-parse", "HEAD").strip() + ("+" if git("status", "--porcelain", "-uno", "openteam") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def cpu_model() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def program_name() -> str:
    """What the user started; ``python -m openteam`` is openteam too."""
    name = Path(sys.argv[0]).name
    return "openteam" if name == "__main__.py" else name
