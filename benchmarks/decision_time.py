"""Wall-clock of one decision, from numpy arrays by id to a plain integer, on one core.

python benchmarks/decision_time.py results/lbf-released/gpl-q/seed-0

``jit`` is ``openteam.Agent``; ``onnx`` and ``numpy`` are what ``openteam export`` writes, run by its run.py.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}

import numpy as np  # noqa: E402

import openteam  # noqa: E402

WARM_UP = 20


def teams(agents: int, interface, count: int):
    """Random features within their bounds; in every step somebody leaves and somebody else arrives."""
    rng = np.random.default_rng(0)
    low, high = np.array([[entry.low, entry.high] for entry in interface.layout.agents]).T
    for step in range(count):
        rows = rng.uniform(low, high, (agents, len(low))).astype(np.float32)
        yield {"me": rows[0]} | {f"drone-{step + number}": row for number, row in enumerate(rows[1:])}


def exported(run: str, kind: str, agents: int, folder: Path):
    """The agent of an export's run.py."""
    openteam.export(run, kind, folder, agents)
    for name in ("run", "step"):
        sys.modules.pop(name, None)
    sys.path.insert(0, str(folder))
    import run as module  # pyright: ignore

    sys.path.pop(0)
    return module.Agent()


def measure(agent, interface, agents: int, decisions: int) -> tuple[float, float]:
    """Median and 99th percentile in milliseconds."""
    shared, times = np.zeros(interface.spec.shared_features, np.float32), []
    for team in teams(agents, interface, WARM_UP + decisions):
        begin = time.perf_counter()
        agent.act(team, shared)
        times.append(time.perf_counter() - begin)
    return tuple(1e3 * np.quantile(times[WARM_UP:], [0.5, 0.99]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="results/lbf-released/gpl-q/seed-0")
    parser.add_argument("--agents", type=int, nargs="+", default=[3, 10, 100, 1000])
    parser.add_argument("--decisions", type=int, default=1000)
    flags = parser.parse_args()
    load = os.getloadavg()[0]
    print(
        f"{flags.run}, {platform.machine()}, one core, load of the machine {load:.1f}; median / 99th percentile in ms"
    )
    print("| agents | jit | onnx | numpy |\n|---|---|---|---|")
    for agents in flags.agents:
        count = max(50, flags.decisions // max(1, agents // 10))
        agent = openteam.Agent.load(flags.run, agents=agents)
        cells = [measure(agent, agent.interface, agents, count)]
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("onnx", "numpy"):
                other = exported(flags.run, kind, agents, Path(folder) / kind)
                cells.append(measure(other, agent.interface, agents, count))
        print(f"| {agents} | " + " | ".join(f"{median:.2f} / {late:.2f}" for median, late in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
