"""What ``openteam bench`` measures: speed as ratios within one run, never as a promise about another machine."""

from __future__ import annotations

import dataclasses
import itertools
import json
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from openteam.algorithms.presets import with_agent_factors
from openteam.bench.measure import (
    TrainingSpeed,
    decision_microseconds,
    matmul_gigaflops,
    raw_steps_per_second,
    training_speed,
)
from openteam.bench.peers import jumanji_lbf_steps_per_second
from openteam.commands.bench import Bench
from openteam.execution.processes import cores as allowed_cores
from openteam.registry import make, make_algorithm
from openteam.storage.about import about, cpu_model
from openteam.storage.imports import import_modules
from openteam.storage.writing import write_atomic
from openteam.task import Task
from openteam.views.full import FullView

FULL = ("gpl-q", "gpl-spi", "ql", "ql-am", "gnn", "gnn-am", "dgn", "maddpg", "ciao-s", "ciao-c", "ippo")
BELIEFS = ("ae-gpl", "vae-gpl", "pf-gpl")
PARTIAL = ("gpl-q", *BELIEFS, "pf-gpl-5", "pf-gpl-1", "ppo", "dvrl", *(f"{name}-released" for name in BELIEFS))
"""What is measured where everything can be seen, and where it cannot."""
RELEASED = {
    ("lbf-released", "gpl-q"): (206, 287),
    ("lbf-partial-released", "ae-gpl"): (148, 153),
    ("lbf-partial-released", "vae-gpl"): (39, 41),
    ("lbf-partial-released", "pf-gpl"): (28, 34),
}
"""Training steps/s of the paper's released code, measured on a 2-core machine."""
RELEASED_GIGAFLOPS = 170
"""Plain products of a core of that machine: 150 to 190 GFLOP/s."""
TEAMS = (3, 5, 10, 100, 1000)
EXPLAINED = TEAMS[1]  # the team in which a decision is also timed with its reasons
Figure = TypeVar("Figure")


def report(bench: Bench) -> None:
    """Measure everything and print it."""
    console = Console(width=max(Console().width, 130))  # narrower, the tables cannot be read
    # Without a pin, some of XLA's kernels use every core there is, whatever its flags say.
    cores = allowed_cores()
    pin(cores[:1])
    console.print(f"{cpu_model()}, {os.cpu_count()} cores; one core per process; best of repeated calls.")
    figures: dict[str, Any] = {"about": about(), "training": [], "raw": [], "decision": []}
    training(bench, console, figures, cores)
    raw(bench, console, figures, cores)
    decisions(bench, console, figures)
    products(bench, console, figures, cores)


def training(bench: Bench, console: Console, figures: dict[str, Any], cores: list[int]) -> None:
    """A table per task, a row per algorithm and number of environments."""
    for task in bench.tasks:
        table = Table(
            "algorithm", "envs", "training\nsteps/s", "beside\nGPL-Q", "collecting\nsteps/s", "MFLOP\n/step",
            "of plain\nproducts", "compile s\ncold / cached", "peak MB,\ncompiler too",
            "x released code\n(at equal products)", title=f"Training on {task}",
        )  # fmt: skip
        peer: dict[int, float] = {}
        for algorithm, envs in itertools.product(measured(bench, task), bench.envs):
            with console.status(f"{algorithm} on {task}, {envs} environments"):
                # In a process of its own, whose memory is that of one training.
                [speed] = in_parallel(_speed, (task, algorithm, envs, bench.budget), 1, cores, bench.imports)
            if algorithm == "gpl-q":
                peer[envs] = speed.training
            figures["training"].append(
                {"task": task, "algorithm": algorithm, "envs": envs, "share": speed.share} | dataclasses.asdict(speed)
            )
            keep(bench, figures)
            table.add_row(algorithm, str(envs), *training_cells(task, algorithm, speed, peer.get(envs)))
        console.print(table)
    if bench.processes > 1:
        at_once(bench, console, figures, cores)


def keep(bench: Bench, figures: dict[str, Any]) -> None:
    """Write what there is so far: the whole takes long."""
    if bench.json:
        bench.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(bench.json, (json.dumps(figures, indent=1) + "\n").encode())


def measured(bench: Bench, task: str) -> tuple[str, ...]:
    """The algorithms to measure on a task."""
    return bench.algorithms or (FULL if isinstance(make(task).view, FullView) else PARTIAL)


def at_once(bench: Bench, console: Console, figures: dict[str, Any], cores: list[int]) -> None:
    """Several processes, for what the released code was measured with."""
    figures["parallel"] = {}
    alone = {(row["task"], row["algorithm"], row["envs"]): row for row in figures["training"]}
    for task in bench.tasks:
        for algorithm in measured(bench, task):
            if (task, family(algorithm)) not in RELEASED:
                continue
            given = (task, algorithm, bench.envs[0], bench.budget)
            plain = alone[given[:3]]["matmul_gigaflops"]
            with console.status(f"{algorithm} on {task}, {bench.processes} processes at once"):
                speeds = in_parallel(_train, given, bench.processes, cores, bench.imports)
            figures["parallel"][f"{task} {algorithm}"] = speeds
            keep(bench, figures)
            times = beside_released(task, algorithm, sum(speeds), plain)
            console.print(
                f"{algorithm} on {task}, {bench.envs[0]} environments, {bench.processes} processes at once: "
                + " + ".join(f"{speed:,.0f}" for speed in speeds)
                + f" = {sum(speeds):,.0f} steps/s, {times} times the released code (at equal products)"
            )


def raw(bench: Bench, console: Console, figures: dict[str, Any], cores: list[int]) -> None:
    """Stepping without learning."""
    table = Table(
        "task", "envs", "steps/s\none process", f"steps/s\n{bench.processes} at once", "jumanji LBF\nsteps/s",
        "ratio", title="Raw stepping, teammates acting",
    )  # fmt: skip
    for task, envs in itertools.product(bench.raw_tasks, bench.raw_envs):
        at_once = bench.processes if envs == bench.raw_envs[0] else 1
        with console.status(f"Stepping {task}, {envs} environments"):
            ours = _raw(task, envs, bench.budget)
            given = (task, envs, bench.budget)
            speeds = in_parallel(_raw, given, at_once, cores, bench.imports) if at_once > 1 else [ours]
            peer = jumanji_lbf_steps_per_second(envs, bench.budget) if task == "lbf-released" else None
        figures["raw"].append(
            {"task": task, "envs": envs, "steps_per_second": ours, "parallel": speeds, "jumanji": peer}
        )
        keep(bench, figures)
        cells = (f"{peer:,.0f}", f"{ours / peer:.2f}") if peer else ("-", "-")
        table.add_row(task, str(envs), f"{ours:,.0f}", f"{sum(speeds):,.0f}" if at_once > 1 else "-", *cells)
    console.print(table)


def decisions(bench: Bench, console: Console, figures: dict[str, Any]) -> None:
    """One decision in teams of every size."""
    table = Table(
        "algorithm", *(f"{team} agents" for team in TEAMS), f"{EXPLAINED} agents,\nwith its reasons",
        title="One decision, microseconds (per agent)",
    )  # fmt: skip
    for algorithm in measured(bench, bench.tasks[0]):
        # One algorithm for all these teams: a factor per pair of a thousand agents would fill the memory.
        learner, spec = with_agent_factors(make_algorithm(algorithm)), make(bench.tasks[0]).spec
        with console.status(f"A decision of {algorithm}"):
            costs = [decision_microseconds(learner, spec, team, bench.budget / 2) for team in TEAMS]
            explained = decision_microseconds(learner, spec, EXPLAINED, bench.budget / 2, explained=True)
        row = dict(zip(map(str, TEAMS), costs, strict=True)) | {"explained": explained}
        figures["decision"].append({"algorithm": algorithm} | row)
        keep(bench, figures)
        cells = (f"{c:,.0f} ({c / n:.1f})" for c, n in zip(costs, TEAMS, strict=True))
        table.add_row(algorithm, *cells, f"{explained:,.0f}")
    console.print(table)


def products(bench: Bench, console: Console, figures: dict[str, Any], cores: list[int]) -> None:
    """What the machine can do at all."""
    shape = (1024, 1024, 1024, bench.budget)
    plain, speeds = matmul_gigaflops(*shape), in_parallel(matmul_gigaflops, shape, bench.processes, cores)
    figures["matmul_1024"], figures["matmul_1024_parallel"] = plain, speeds
    console.print(
        f"Plain matrix product, 1024 x 1024 x 1024: {plain:.0f} GFLOP/s by one process, {bench.processes} at once: "
        f"{sum(speeds):.0f}"
    )
    keep(bench, figures)


def with_envs(algorithm: str, task: Task, envs: int) -> Any:
    """The algorithm for a task with that many environments."""
    return dataclasses.replace(make_algorithm(algorithm, task), envs=envs)


def training_cells(task: str, algorithm: str, speed: TrainingSpeed, peer: float | None) -> list[str]:
    """The figures of one row, for people."""
    return [
        f"{speed.training:,.0f}",
        f"{speed.training / peer:.2f}" if peer else "-",
        f"{speed.collecting:,.0f}",
        f"{speed.megaflop:.2f}",
        f"{speed.share:.0%} of {speed.matmul_gigaflops:.0f}",
        f"{speed.cold_seconds:.1f} / {speed.cached_seconds:.1f}",
        f"{speed.peak_megabytes:,.0f}",
        beside_released(task, algorithm, speed.training, speed.matmul_gigaflops),
    ]


def family(algorithm: str) -> str:
    """Its name without what its numbers are called."""
    return algorithm.removesuffix("-released")


def beside_released(task: str, algorithm: str, steps_per_second: float, plain: float) -> str:
    """How many times the released code's fastest and slowest figure, and the same if a core did its plain products."""
    found = RELEASED.get((task, family(algorithm)))
    if found is None:
        return "-"
    low, high = (steps_per_second / figure for figure in reversed(found))
    equal = RELEASED_GIGAFLOPS / plain
    return f"{low:.0f}-{high:.0f} ({equal * low:.0f}-{equal * high:.0f})"


def pin(cores: list[int]) -> None:
    """Run on these cores only, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def in_parallel(
    measure: Callable[..., Figure], given: tuple, processes: int, cores: list[int], imports: tuple[str, ...] = ()
) -> list[Figure]:
    """What several pinned processes measure that start together; what goes wrong in one of them is raised here."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _get_ready, (imports, context.Barrier(processes))) as pool:
        pins = [[cores[n % len(cores)]] for n in range(processes)]
        return list(pool.map(_pinned, pins, itertools.repeat(measure), itertools.repeat(given)))


def _get_ready(imports: tuple[str, ...], barrier: Any) -> None:
    """Wait for the others, with all modules there."""
    import_modules(imports)
    barrier.wait()


def _pinned(cores: list[int], measure: Callable[..., Figure], given: tuple) -> Figure:
    pin(cores)
    return measure(*given)


def _speed(task: str, algorithm: str, envs: int, budget: float) -> TrainingSpeed:
    played = make(task)
    return training_speed(played, with_envs(algorithm, played, envs), budget)


def _train(task: str, algorithm: str, envs: int, budget: float) -> float:
    played = make(task)
    return training_speed(played, with_envs(algorithm, played, envs), budget, matmul=False).training


def _raw(task: str, envs: int, budget: float) -> float:
    return raw_steps_per_second(make(task), envs, budget)
