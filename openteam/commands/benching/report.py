"""What ``openteam bench`` measures: speed as ratios within one run, never as a promise about another machine."""

from __future__ import annotations

import itertools
import os

from rich.console import Console
from rich.table import Table

from openteam.algorithms.presets import with_agent_factors
from openteam.bench.measure import decision_microseconds, matmul_gigaflops, raw_steps_per_second
from openteam.bench.peers import jumanji_lbf_steps_per_second
from openteam.bench.processes import in_parallel, pin
from openteam.commands.bench import Bench
from openteam.commands.benching.devices import devices
from openteam.commands.benching.session import Session, measured
from openteam.commands.benching.teams import teams
from openteam.commands.benching.training import training
from openteam.execution.processes import cores as allowed_cores
from openteam.registry import make, make_algorithm
from openteam.storage.about import about, cpu_model

TEAMS = (3, 5, 10, 100, 1000)
EXPLAINED = TEAMS[1]  # the team in which a decision is also timed with its reasons


def report(bench: Bench) -> None:
    """Measure everything and print it."""
    console = Console(width=max(Console().width, 150))  # narrower, the tables cannot be read
    # Without a pin, some of XLA's kernels use every core there is, whatever its flags say.
    cores = allowed_cores()
    pin(cores[:1])
    console.print(f"{cpu_model()}, {os.cpu_count()} cores; one core per process; best of repeated calls.")
    session = Session(bench, console, cores, {"about": about()})
    tables = {"training": training, "raw": raw, "decisions": decisions, "teams": teams, "devices": devices}
    for part, table in tables.items():
        if part in bench.parts:
            table(session)
    products(session)


def raw(session: Session) -> None:
    """Stepping without learning."""
    bench = session.bench
    table = Table(
        "task", "envs", "steps/s\none process", f"steps/s\n{bench.processes} at once", "jumanji LBF\nsteps/s",
        "ratio", title="Raw stepping, teammates acting",
    )  # fmt: skip
    for task, envs in itertools.product(bench.raw_tasks, bench.raw_envs):
        at_once = bench.processes if envs == bench.raw_envs[0] else 1
        with session.console.status(f"Stepping {task}, {envs} environments"):
            ours = _raw(task, envs, bench.budget)
            given = (task, envs, bench.budget)
            speeds = in_parallel(_raw, given, at_once, session.cores, bench.imports) if at_once > 1 else [ours]
            peer = jumanji_lbf_steps_per_second(envs, bench.budget) if task == "lbf-released" else None
        row = {"task": task, "envs": envs, "steps_per_second": ours, "parallel": speeds, "jumanji": peer}
        session.add("raw", row)
        cells = (f"{peer:,.0f}", f"{ours / peer:.2f}") if peer else ("-", "-")
        table.add_row(task, str(envs), f"{ours:,.0f}", f"{sum(speeds):,.0f}" if at_once > 1 else "-", *cells)
    session.console.print(table)


def decisions(session: Session) -> None:
    """One decision in teams of every size."""
    bench = session.bench
    table = Table(
        "algorithm", *(f"{team} agents" for team in TEAMS), f"{EXPLAINED} agents,\nwith its reasons",
        title="One decision, microseconds (per agent)",
    )  # fmt: skip
    for algorithm in measured(bench, bench.tasks[0]):
        # One algorithm for all these teams: a factor per pair of a thousand agents would fill the memory.
        learner, spec = with_agent_factors(make_algorithm(algorithm)), make(bench.tasks[0]).spec
        with session.console.status(f"A decision of {algorithm}"):
            costs = [decision_microseconds(learner, spec, team, bench.budget / 2) for team in TEAMS]
            explained = decision_microseconds(learner, spec, EXPLAINED, bench.budget / 2, explained=True)
        row = dict(zip(map(str, TEAMS), costs, strict=True)) | {"explained": explained}
        session.add("decision", {"algorithm": algorithm} | row)
        cells = (f"{c:,.0f} ({c / n:.1f})" for c, n in zip(costs, TEAMS, strict=True))
        table.add_row(algorithm, *cells, f"{explained:,.0f}")
    session.console.print(table)


def products(session: Session) -> None:
    """What the machine can do at all."""
    bench = session.bench
    shape = (1024, 1024, 1024, bench.budget)
    plain, speeds = matmul_gigaflops(*shape), in_parallel(matmul_gigaflops, shape, bench.processes, session.cores)
    session.add("matmul_1024", {"one": plain, "parallel": speeds})
    session.console.print(
        f"Plain matrix product, 1024 x 1024 x 1024: {plain:.0f} GFLOP/s by one process, {bench.processes} at once: "
        f"{sum(speeds):.0f}"
    )


def _raw(task: str, envs: int, budget: float) -> float:
    return raw_steps_per_second(make(task), envs, budget)
