"""Kill real runs, resume them, and compare every file with that of a run left alone. Not a test: it takes long.

python tests/kill.py lbf-partial,wolfpack-partial gpl-q,ae-gpl
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPENTEAM = [sys.executable, "-m", "openteam"]
HURRY = {"XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"}


def main(tasks: str, algorithms: str) -> None:
    for task in tasks.split(","):
        for algorithm in algorithms.split(","):
            with tempfile.TemporaryDirectory() as folder:
                print(task, algorithm, outcome(task, algorithm, Path(folder)), flush=True)


def outcome(task: str, algorithm: str, folder: Path) -> str:
    """Train once in peace and once until the second checkpoint is there, then go on with that."""
    whole, killed = folder / "whole", folder / "killed"
    command(words(task, algorithm, whole))
    second = sorted((whole / "checkpoints").iterdir())[1].name
    kill_at(words(task, algorithm, killed), killed / "checkpoints" / second)
    left = len(list((killed / "checkpoints").glob("*.safetensors")))
    command(["resume", str(killed)])
    command(["evaluate", str(killed), "--episodes", "4"])
    ours, theirs = contents(killed), contents(whole)
    wrong = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    how = f"DIFFERENT in {', '.join(wrong)}" if wrong else f"the same {len(ours)} files"
    return f"{how} after a kill with {left} checkpoints, loaded"


def words(task: str, algorithm: str, out: Path) -> list[str]:
    steps = ["--steps", "8192", "--checkpoint-every", "4096", "--evaluation-episodes", "4"]
    return ["train", task, algorithm, *steps, "--out", str(out)]


def command(words: list[str]) -> None:
    """``openteam ...``, in a process of its own, which must end well."""
    subprocess.run([*OPENTEAM, *words], env=os.environ | HURRY, check=True, capture_output=True)


def kill_at(words: list[str], file: Path) -> None:
    """Send SIGKILL to ``openteam ...`` as soon as a file is there."""
    process = subprocess.Popen(
        [*OPENTEAM, *words], env=os.environ | HURRY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # fmt: skip
    while process.poll() is None and not file.exists():
        time.sleep(0.001)
    process.kill()
    if process.wait() != -signal.SIGKILL:
        sys.exit(f"openteam {' '.join(words)} ended by itself.")


def contents(folder: Path) -> dict[str, object]:
    """Every file that must be equal: tensors byte by byte, rows but for the time they took."""
    found: dict[str, object] = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.safetensors")}
    for path in folder.glob("*.jsonl"):
        rows = map(json.loads, path.read_text().splitlines())
        found[path.name] = [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
