"""Kill nodes, workers and the driver of plans on clusters, and compare with local processes. Not a test: it takes long.

python tests/kill_cluster.py ray|slurm|freeze FOLDER [RUNS] [STEPS] [SECONDS]

ray: a cluster of two nodes on this machine; one is killed in the middle, later the driver, which is started again.
slurm: submitit's executor on this machine; a run that takes longer than SECONDS is written and queued again at this
limit (by 0, as soon as it has rows, by hand); the driver is killed, too.
freeze: two workers on one folder; one is frozen past its lease, and continued when the other has its run.
FOLDER gets ``whole``, made by local processes, unless it is there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kill import difference

OPENTEAM = [sys.executable, "-m", "openteam"]
SMALL = {"envs": 4, "update_every": 4, "minibatches": 1, "epochs": 1, "network.width": 4}
SIGNAL_BEFORE = 30  # seconds before the limit at which submitit's local executor sends its signal
LEASE = 4


def main(how: str, folder: str, runs: str = "12", steps: str = "192000", seconds: str = "20") -> None:
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    whole = write_plan(home, "whole", int(runs), int(steps))
    finish(start("plan", str(whole)))
    plan = write_plan(home, how, int(runs), int(steps))
    ways = {"ray": on_ray, "slurm": lambda *paths: on_slurm(*paths, int(seconds)), "freeze": frozen}
    said = ways[how](plan, home / how)
    print(f"{how}: {said}; {difference(home / how, home / 'whole')}")


def write_plan(home: Path, name: str, runs: int, steps: int) -> Path:
    plan = {
        "tasks": ["probe-match"], "algorithms": ["ippo"], "seeds": list(range(runs)), "out": str(home / name),
        "steps": steps, "checkpoint_every": steps // 6, "evaluation_episodes": 8,
        "set": {f"algorithm.{key}": value for key, value in SMALL.items()},
    }  # fmt: skip
    path = home / f"{name}.json"
    path.write_text(json.dumps(plan))
    return path


def on_ray(plan: Path, out: Path) -> str:
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112  else it kills tasks for what others need
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    victim = cluster.add_node(num_cpus=1)
    words = ("plan", str(plan), "--on", "ray", "--address", cluster.address)
    watch = Watch(out)
    driver = start(*words)
    few = len(json.loads(plan.read_text())["seeds"]) // 4
    watch.until(lambda: len(watch.finished()) >= few and watch.running() == 2, driver)
    cluster.remove_node(victim, allow_graceful=False)
    watch.note("node killed")
    cluster.add_node(num_cpus=1)
    count = len(watch.finished())
    watch.until(lambda: len(watch.finished()) >= count + few and watch.running() > 0, driver)
    driver.kill()
    driver.wait()
    watch.note("driver killed")
    finish(start(*words))
    cluster.shutdown()
    return watch.verdict()


def on_slurm(plan: Path, out: Path, seconds: int) -> str:
    limit = f"{seconds + SIGNAL_BEFORE if seconds else 3600}s"
    words = ("plan", str(plan), "--on", "slurm", "--address", "local", "--workers", "2", "--time-limit", limit)
    watch = Watch(out)
    driver = start(*words)
    if not seconds:
        watch.until(lambda: watch.running() > 0, driver)
        os.kill(worker_of(watch.statuses()), signal.SIGUSR2)
        watch.until(lambda: any(one["retries"] for one in watch.statuses()), driver)
    watch.until(lambda: len(watch.finished()) >= 1, driver)
    driver.kill()
    driver.wait()
    watch.note("driver killed")
    finish(start(*words))
    logs = "".join(path.read_text() for path in (out / "slurm").rglob("*.out"))
    requeued = len(re.findall("Requeued job", logs))
    shutil.rmtree(out / "slurm")  # logs and pickles of submitit's are no part of the comparison
    return f"{requeued} times queued again at the limit of {seconds} s, {watch.verdict()}"


def worker_of(statuses: list[dict]) -> int:
    """The process that has started the process of a run."""
    run = next(one for one in statuses if one["state"] == "running" and one["step"] > 0)
    stat = Path(f"/proc/{run['where'].rsplit(':', 1)[1]}/stat").read_text()
    return int(stat.rsplit(")", 1)[1].split()[1])


def frozen(plan: Path, out: Path) -> str:
    """The first worker begins, is frozen, and wakes up when the second has taken its run over."""
    words = ("work", str(plan), "--workers", "1", "--lease", f"{LEASE}s")
    first = start(*words)
    watch = Watch(out)
    watch.until(lambda: any(rows > 2 for rows in map(lines, out.rglob("train.jsonl"))), first)
    (run,) = [path.parent for path in out.rglob("lease-*.json")]
    group(first, signal.SIGSTOP)
    second = start(*words)
    watch.until(lambda: (run / "lease-000002.json").exists() and lines(run / "train.jsonl") > 2, second)
    group(second, signal.SIGSTOP)  # so that only the first can write now
    before = content(run)
    group(first, signal.SIGCONT)
    time.sleep(LEASE)
    unchanged = content(run) == before
    group(second, signal.SIGCONT)
    finish(second)
    finish(first)
    return (
        f"taken over after {LEASE} s, what the first wrote after it woke up: {'nothing' if unchanged else 'SOMETHING'}"
    )


def content(run: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def group(process: subprocess.Popen[str], number: int) -> None:
    os.killpg(process.pid, number)


class Watch:
    """What happens in a folder of runs, seen from outside."""

    def __init__(self, out: Path):
        self.out = out
        self.ends: dict[Path, set[int]] = {}
        self.notes: list[str] = []

    def statuses(self) -> list[dict]:
        words = [*OPENTEAM, "status", str(self.out), "--json"]
        told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return [json.loads(line) for line in told.splitlines()]

    def finished(self) -> set[str]:
        """Runs that came to their end; how often they did is remembered."""
        found = {one["folder"] for one in self.statuses() if one["state"] == "finished"}
        for folder in found:
            last = max((Path(folder) / "checkpoints").glob("*.safetensors"))
            self.ends.setdefault(last, set()).add(last.stat().st_mtime_ns)
        return found

    def running(self) -> int:
        return sum(one["state"] == "running" and one["step"] > 0 for one in self.statuses())

    def until(self, happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
        while not happened():
            if process.poll() is not None:
                sys.exit(
                    f"It ended too early, with {process.returncode}: {process.stderr.read() if process.stderr else ''}"
                )
            time.sleep(0.3)

    def note(self, what: str) -> None:
        steps = [one["step"] for one in self.statuses() if one["state"] != "finished" and one["step"]]
        self.notes.append(f"{what} with {len(self.finished())} runs finished and others at steps {steps}")

    def verdict(self) -> str:
        runs = self.finished()
        twice = [str(path) for path, times in self.ends.items() if len(times) > 1]
        retries = sum(one["retries"] for one in self.statuses())
        ended = f"run to their end twice: {twice or 'none'}"
        return f"{'; '.join(self.notes)}; {len(runs)} runs finished, {retries} times taken up again, {ended}"


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*OPENTEAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{process.args}: exit code {process.returncode}, {errors}")


if __name__ == "__main__":
    main(*sys.argv[1:])
