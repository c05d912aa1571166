"""Training: a table per task, a row per algorithm, beside the same algorithm with the released sizes."""

from __future__ import annotations

import dataclasses
import itertools

from rich.table import Table

from openteam.bench.processes import alone, in_parallel
from openteam.bench.training import TrainingSpeed, steps_per_second, training_speed
from openteam.catalogue import catalogue
from openteam.commands.benching.session import Session, measured, with_envs
from openteam.registry import make

RELEASED = {
    ("lbf-released", "gpl-q"): (206, 287),
    ("lbf-partial-released", "ae-gpl"): (148, 153),
    ("lbf-partial-released", "vae-gpl"): (39, 41),
    ("lbf-partial-released", "pf-gpl"): (28, 34),
}
"""Training steps/s of the paper's released code, measured on a 2-core machine."""
RELEASED_GIGAFLOPS = 170
"""Plain products of a core of that machine: 150 to 190 GFLOP/s."""
COLUMNS = (
    "algorithm", "envs", "training\nsteps/s", "beside\nGPL-Q", "collecting\nsteps/s", "products\nMFLOP/step",
    "products alone, of\nthe time (GFLOP/s)", "compile s\ncold / cached", "peak MB,\ncompiler too",
    "x released code\n(at equal products)",
)  # fmt: skip


def training(session: Session) -> None:
    """Print the tables; with several processes, also what they do together."""
    for task in session.bench.tasks:
        table = Table(*COLUMNS, title=f"Training on {task}")
        peer: dict[int, float] = {}
        for algorithm, envs in itertools.product(measured(session.bench, task), session.bench.envs):
            speed = measure(session, task, algorithm, envs)
            if algorithm == "gpl-q":
                peer[envs] = speed.training
            table.add_row(algorithm, str(envs), *training_cells(task, algorithm, speed, peer.get(envs)))
            for there, name in released(session, task, algorithm):
                at_released = measure(session, there, name, envs)
                where = "" if there == task else f"\non {there}"
                cells = training_cells(there, name, at_released, speed.training)
                table.add_row(f"  {name}{where}", str(envs), cells[0], f"{cells[1]} x ours", *cells[2:])
        session.console.print(table)
    if session.bench.processes > 1:
        at_once(session)


def released(session: Session, task: str, algorithm: str) -> list[tuple[str, str]]:
    """The task and the algorithm with the released code's numbers, if they are asked for and have names."""
    known, name = catalogue(), f"{algorithm}-released"
    if "released" not in session.bench.parts or name not in known.algorithms:
        return []
    there = f"{task}-released"
    return [(there if there in known.tasks else task, name)]


def measure(session: Session, task: str, algorithm: str, envs: int) -> TrainingSpeed:
    """Of one algorithm, in a process whose memory is that of one training."""
    with session.console.status(f"{algorithm} on {task}, {envs} environments"):
        given = task, algorithm, envs, session.bench.budget
        speed = alone(_speed, given, session.cores[:1], session.bench.imports)
    row = {"task": task, "algorithm": algorithm, "envs": envs, "share": speed.share}
    session.add("training", row | dataclasses.asdict(speed))
    return speed


def at_once(session: Session) -> None:
    """Several processes, for what the released code was measured with."""
    bench, envs = session.bench, session.bench.envs[0]
    for row in [row for row in session.figures["training"] if row["envs"] == envs]:
        task, algorithm = row["task"], row["algorithm"]
        if (task, family(algorithm)) not in RELEASED:
            continue
        with session.console.status(f"{algorithm} on {task}, {bench.processes} processes at once"):
            given = task, algorithm, envs, bench.budget
            speeds = in_parallel(_train, given, bench.processes, session.cores, bench.imports)
        session.add("parallel", {"task": task, "algorithm": algorithm, "envs": envs, "steps_per_second": speeds})
        times = beside_released(task, algorithm, sum(speeds), row["matmul_gigaflops"])
        session.console.print(
            f"{algorithm} on {task}, {envs} environments, {bench.processes} processes at once: "
            + " + ".join(f"{speed:,.0f}" for speed in speeds)
            + f" = {sum(speeds):,.0f} steps/s, {times} times the released code (at equal products)"
        )


def training_cells(task: str, algorithm: str, speed: TrainingSpeed, peer: float | None) -> list[str]:
    """The figures of one row, for people."""
    return [
        f"{speed.training:,.0f}",
        f"{speed.training / peer:.2f}" if peer else "-",
        f"{speed.collecting:,.0f}",
        f"{speed.megaflop:.2f}",
        f"{speed.share:.0%} ({speed.products_gigaflops:.0f})",
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


def _speed(task: str, algorithm: str, envs: int, budget: float) -> TrainingSpeed:
    played = make(task)
    return training_speed(played, with_envs(algorithm, played, envs), budget)


def _train(task: str, algorithm: str, envs: int, budget: float) -> float:
    played = make(task)
    return steps_per_second(played, with_envs(algorithm, played, envs), budget)
