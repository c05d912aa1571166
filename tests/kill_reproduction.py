"""Kill ``openteam reproduce`` and its workers, let it go on, and compare its table with one made without. Not a test.

python tests/kill_reproduction.py values FOLDER [SEED]

FOLDER, which is made, gets ``whole`` and ``killed``. Each of the three signals comes within a fifth of the time that
the whole one takes, at a random moment after workers have begun.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path


def main(what: str, folder: str, seed: str = "0") -> None:
    whole, killed = Path(folder) / "whole", Path(folder) / "killed"
    began = time.monotonic()
    subprocess.run(words(what, whole), check=True, stdout=subprocess.DEVNULL)
    longest = max((time.monotonic() - began) / 5, 2)  # so that three signals come before everything is finished
    chance, hits = random.Random(seed), []
    for victims in (["command"], ["worker", "command"]):  # without a worker, the command goes on
        process = subprocess.Popen(words(what, killed), stdout=subprocess.DEVNULL)
        for victim in victims:
            while not (workers := children(process.pid)) and process.poll() is None:
                time.sleep(0.2)
            time.sleep(chance.uniform(1, longest))
            workers = children(process.pid) or workers
            if process.poll() is None:
                os.kill(process.pid if victim == "command" else chance.choice(workers), signal.SIGKILL)
                hits.append(f"{victim} after {checkpoints(killed)} checkpoints")
        process.wait()
    subprocess.run(words(what, killed), check=True, stdout=subprocess.DEVNULL)
    same = [table(whole, what, suffix) == table(killed, what, suffix) for suffix in ("csv", "txt")]
    print(f"Killed: {', '.join(hits)}. Tables are {'equal' if all(same) else 'DIFFERENT'}.")


def words(what: str, out: Path) -> list[str]:
    return [sys.executable, "-m", "openteam", "reproduce", what, "--scale", "smoke", "--out", str(out)]


def table(folder: Path, what: str, suffix: str) -> str:
    """As it was written, but for where its runs are."""
    return (folder / "tables" / f"{what}.{suffix}").read_text().replace(str(folder), "")


def checkpoints(folder: Path) -> int:
    return len(list(folder.rglob("checkpoints/*.safetensors")))


def children(parent: int) -> list[int]:
    """The workers of a command; Python's helper for shared resources is none."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            is_child = int(stat.read_text().rsplit(")", 1)[1].split()[1]) == parent
            if is_child and b"spawn_main" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
        except OSError:  # it has just ended
            continue
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
