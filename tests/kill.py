"""Send signals to real runs, resume them, and compare every file with a run left alone. Not a test: it takes long.

python tests/kill.py lbf-partial gpl-q,ppo plan

Every run is disturbed on one core and on all of them, each time by SIGKILL and SIGINT at random moments, during an
evaluation, and while a checkpoint is written. ``plan`` disturbs a plan of all the algorithms before it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

STEPS = int(os.environ.get("STEPS", "32768"))  # PPO needs eight times as many for eight updates
EVERY, EPISODES = STEPS // 8, 64
PYTHON = 1.0  # seconds that Python needs until a line of ours runs: a Ctrl-C before is not ours to answer
KILL, INTERRUPT = signal.SIGKILL, signal.SIGINT
DISTURBANCES = [(KILL, "anywhere"), (INTERRUPT, "anywhere"), (KILL, "evaluating"), (INTERRUPT, "evaluating"),
                (KILL, "writing"), (INTERRUPT, "writing")]  # fmt: skip
# A background job inherits an ignored Ctrl-C; whoever sits at a terminal does not.
HEED = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
OPENTEAM = [sys.executable, "-c", HEED, sys.executable, "-m", "openteam"]


def main(task: str, algorithms: str, *plan: str) -> None:
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        names = algorithms.split(",")
        for several in [[name] for name in names] + [names for _ in plan]:
            label = f"plan of {', '.join(several)}" if len(several) > 1 else several[0]
            whole, again = (Path(folder) / label.replace(" ", "-") / name for name in ("whole", "again"))
            finish(beginning(task, several, whole), cores)
            seconds = finish(beginning(task, several, again), cores)  # nothing left to compile
            for used in (cores[:1], cores):
                out = whole.with_name(f"on-{len(used)}")
                hits = disturbed(beginning(task, several, out), out, used, seconds, whole)
                print(f"{task} {label}, {len(used)} cores: {hits}; {difference(out, whole)}", flush=True)


def beginning(task: str, algorithms: list[str], out: Path) -> list[str]:
    """The command that begins one run, or a plan of several; given again, a plan goes on."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if len(algorithms) == 1:
        numbers = ["--steps", STEPS, "--checkpoint-every", EVERY, "--evaluation-episodes", EPISODES]
        return ["train", task, algorithms[0], *map(str, numbers), "--out", str(out)]
    plan = {"tasks": [task], "algorithms": algorithms, "seeds": [0], "out": str(out), "steps": STEPS,
            "checkpoint_every": EVERY, "evaluation_episodes": EPISODES}  # fmt: skip
    out.with_suffix(".json").write_text(json.dumps(plan))
    return ["plan", str(out.with_suffix(".json"))]


def disturbed(begin: list[str], out: Path, cores: list[int], seconds: float, whole: Path) -> str:
    """Signals one after another, each followed by a resumption, then the end. Says where they hit."""
    chance, hits, left = random.Random(str(out)), [], list(DISTURBANCES)
    while left:
        number, where = left[0]
        words = begin if begin[0] == "plan" or not (out / "config.json").exists() else ["resume", str(out)]
        process = start(words, cores)
        moment = anywhere(PYTHON + seconds * chance.random() * 0.8) if where == "anywhere" else MOMENTS[where](out)
        while process.poll() is None and not next(moment):
            time.sleep(0.001)
        if process.poll() is None:
            os.killpg(process.pid, number)
            hits.append(f"{number.name} {where} at step {last_step(out)}")
            left.pop(0)
        _, errors = process.communicate()
        if number == INTERRUPT and ("Traceback" in errors or process.returncode not in (0, 2)):
            sys.exit(f"{words}: exit code {process.returncode}, {errors}")
        if process.returncode == 0:  # it was faster than the signal: begin another one
            hits.append(f"ended with {difference(out, whole)}")
            shutil.rmtree(out)
    finish(begin if begin[0] == "plan" or not out.exists() else ["resume", str(out)], cores)
    return ", ".join(hits)


def anywhere(seconds: float) -> Iterator[bool]:
    until = time.monotonic() + seconds
    while True:
        yield time.monotonic() > until


def evaluating(out: Path) -> Iterator[bool]:
    """From the row of training that a checkpoint follows, until that is written."""
    before = due(out)
    while True:
        yield bool(due(out) - before)


def due(out: Path) -> set[tuple[Path, int]]:
    steps = {(path, step_of(path)) for path in out.rglob("train.jsonl")}
    return {(path, step) for path, step in steps if step and step % EVERY == 0}


def writing(out: Path) -> Iterator[bool]:
    """As soon as there is a new file of a checkpoint, be it still under another name."""
    before = set(out.rglob("checkpoints/*"))
    while True:
        yield bool(set(out.rglob("checkpoints/*")) - before)


MOMENTS: dict[str, Callable[[Path], Iterator[bool]]] = {"evaluating": evaluating, "writing": writing}


def last_step(out: Path) -> int:
    return max((step_of(path) for path in out.rglob("train.jsonl")), default=0)


def step_of(path: Path) -> int:
    lines = path.read_bytes().split(b"\n")
    return json.loads(lines[-2])["step"] if len(lines) > 1 else 0


def start(words: list[str], cores: list[int]) -> subprocess.Popen[str]:
    """``openteam ...`` on these cores, in a process group of its own, as a terminal starts it."""
    listed = ",".join(map(str, cores))
    return subprocess.Popen(
        ["taskset", "-c", listed, *OPENTEAM, *words], start_new_session=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(words: list[str], cores: list[int]) -> float:
    """The seconds that ``openteam ...`` takes, which must end well."""
    began, process = time.monotonic(), start(words, cores)
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{words}: exit code {process.returncode}, {errors}")
    return time.monotonic() - began


def difference(ours: Path, theirs: Path) -> str:
    contents = [files(ours), files(theirs)]
    wrong = sorted(
        name for name in contents[0].keys() | contents[1].keys() if contents[0].get(name) != contents[1].get(name)
    )
    return f"DIFFERENT in {', '.join(wrong)}" if wrong else f"the same {len(contents[0])} files"


def files(folder: Path) -> dict[str, object]:
    """Every file that must be equal: tensors byte by byte, rows but for the time they took."""
    found: dict[str, object] = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.safetensors")}
    for path in folder.rglob("*.jsonl"):
        rows = map(json.loads, path.read_text().splitlines())
        found[str(path.relative_to(folder))] = [
            {name: value for name, value in row.items() if name != "seconds"} for row in rows
        ]
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
