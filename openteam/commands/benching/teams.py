"""Large teams: a training step and a decision as the team grows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from rich.table import Table

from openteam.bench.processes import alone
from openteam.bench.teams import TeamCost, growth, quadratic_part, team_cost, variants
from openteam.commands.benching.session import Session, measured, with_envs
from openteam.registry import make


def teams(session: Session) -> None:
    """A table with a row per algorithm and size, and what is quadratic."""
    bench = session.bench
    task, envs = bench.tasks[0], bench.team_envs
    table = Table(
        "algorithm", "agents", "training step\nµs", "per agent\nµs", "decision\nµs", "per agent\nµs",
        "training program\nMB", "peak MB,\ncompiler too", "growth with the team",
        title=f"Large teams: features of {task}, {envs} environments, a world that costs nothing",
    )  # fmt: skip
    for algorithm in measured(bench, task):
        for name, learner in variants(algorithm, with_envs(algorithm, None, envs)).items():
            costs = [measure(session, algorithm, name, agents) for agents in bench.team_sizes]
            part = quadratic_part(algorithm, learner)
            said = "linear" if part is None else f"quadratic: {part.what};\nlinear: {part.instead}"
            for number, cost in enumerate(costs):
                last = number == len(costs) - 1
                table.add_row(name, *team_cells(cost), f"{said}{grows(costs)}" if last else "")
            table.add_section()
    session.console.print(table)


def measure(session: Session, algorithm: str, name: str, agents: int) -> TeamCost:
    """In a process whose memory is that of one team."""
    bench = session.bench
    with session.console.status(f"{name} in a team of {agents}"):
        given = bench.tasks[0], algorithm, name, bench.team_envs, agents, bench.budget
        cost = alone(_cost, given, session.cores[:1], bench.imports)
    session.add("teams", {"algorithm": name, "envs": bench.team_envs} | dataclasses.asdict(cost))
    return cost


def team_cells(cost: TeamCost) -> list[str]:
    """The figures of one row, for people."""
    fits = not math.isnan(cost.training_microseconds)
    step = [f"{cost.training_microseconds:,.0f}", f"{cost.training_microseconds / cost.agents:,.1f}"]
    decision = cost.decision_microseconds
    return [
        f"{cost.agents:,}",
        *(step if fits else ["does not fit", "-"]),
        f"{decision:,.0f}",
        f"{decision / cost.agents:.1f}",
        f"{cost.megabytes:,.0f}",
        f"{cost.peak_megabytes:,.0f}",
    ]


def grows(costs: Sequence[TeamCost]) -> str:
    """How the training step grew between the two largest teams; nothing if there are not two."""
    power = growth(costs)
    return "" if math.isnan(power) else f"\nmeasured: n^{power:.1f}"


def _cost(task: str, algorithm: str, name: str, envs: int, agents: int, budget: float) -> TeamCost:
    learner = variants(algorithm, with_envs(algorithm, None, envs))[name]
    return team_cost(learner, make(task).spec, agents, budget)
