"""One run on one device and on several."""

from __future__ import annotations

from rich.table import Table

from openteam.bench.processes import alone
from openteam.bench.training import steps_per_second
from openteam.commands.benching.session import Session, measured, with_envs
from openteam.registry import make
from openteam.threads import use_cpu_devices


def devices(session: Session) -> None:
    """A row per algorithm: steps/s on every number of devices, and how many times those of the first."""
    bench = session.bench
    counts, envs = bench.devices, bench.envs[0]
    table = Table(
        "task", "algorithm", *(f"{count} device{'s' * (count > 1)}\nsteps/s" for count in counts), "ratio",
        title=f"One run on several CPU devices, {envs} environments, a core each where there are enough",
    )  # fmt: skip
    for task in bench.tasks:
        for algorithm in measured(bench, task):
            speeds = [measure(session, task, algorithm, count) for count in counts]
            ratios = " / ".join(f"{speed / speeds[0]:.2f}" for speed in speeds)
            table.add_row(task, algorithm, *(f"{speed:,.0f}" for speed in speeds), ratios)
    session.console.print(table)


def measure(session: Session, task: str, algorithm: str, count: int) -> float:
    """In a process of its own: how many devices there are is settled when JAX first computes something."""
    bench, envs = session.bench, session.bench.envs[0]
    with session.console.status(f"{algorithm} on {task}, {count} devices"):
        given = task, algorithm, envs, bench.budget, count
        speed = alone(_speed, given, session.cores[:count], bench.imports)
    session.add("devices", {"task": task, "algorithm": algorithm, "devices": count, "steps_per_second": speed})
    return speed


def _speed(task: str, algorithm: str, envs: int, budget: float, count: int) -> float:
    use_cpu_devices(count)
    played = make(task)
    return steps_per_second(played, with_envs(algorithm, played, envs), budget, count)
