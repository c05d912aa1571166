"""Seconds from typing ``openteam train`` to the first training step, with no compiled program on disk and with all.

python benchmarks/cold_start.py [TASK ALGORITHM] [--turns 2]

The step is the first call of the training program that computes something: what comes before it, a user waits for.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = """
import os, sys, time
from openteam.__main__ import main
from openteam.training import driver

train = driver.train

def first(program, carry, updates):
    began = time.time()
    train(program, carry, updates)
    print("WAITED", began - float(os.environ["BEGAN"]))
    sys.stdout.flush()
    os._exit(0)

driver.train = first
main()
"""


def waited(task: str, algorithm: str, cache: Path) -> float:
    """One start, with the programs in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = ["train", task, algorithm, "--steps", "1e6", "--out", str(out)]
        env = os.environ | {"XDG_CACHE_HOME": str(cache), "BEGAN": str(time.time())}
        done = subprocess.run([sys.executable, "-c", COMMAND, *words], env=env, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("WAITED"):
            return float(line.split()[1])
    raise SystemExit(done.stdout + done.stderr)


def main() -> None:
    """Start by turns, and say what each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="lbf-released")
    parser.add_argument("algorithm", nargs="?", default="gpl-q")
    parser.add_argument("--turns", type=int, default=2)
    given = parser.parse_args()
    for _ in range(given.turns):
        with tempfile.TemporaryDirectory() as folder:
            cold = waited(given.task, given.algorithm, Path(folder))
            cached = waited(given.task, given.algorithm, Path(folder))
        print(f"{given.task}, {given.algorithm}: {cold:.1f} s cold, {cached:.1f} s from the cache", flush=True)


if __name__ == "__main__":
    main()
