"""What learning and deciding cost as teams grow, and what of it is quadratic."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import jax

from openteam.algorithms.dgn import DGN
from openteam.algorithms.presets import with_agent_factors
from openteam.bench.crowd import crowd
from openteam.bench.measure import decision_microseconds
from openteam.bench.timing import lowered, megabytes_of, peak_megabytes, seconds_per_call
from openteam.bench.training import Training
from openteam.core.learner import AbstractLearner
from openteam.core.types import Spec
from openteam.models.attention_head import AttentionHead
from openteam.models.graph import CompleteGraph
from openteam.models.joint_value import PerEdge, Signed, Star
from openteam.training.loop import advance

LINEAR = "gpl-q-factored"
AGENT_STEPS_PER_CALL = 16_000


@dataclass(frozen=True)
class TeamCost:
    """One algorithm in a team of one size."""

    agents: int
    training_microseconds: float  # per environment step; not a number if it does not fit into memory
    decision_microseconds: float
    megabytes: float  # of the training program
    peak_megabytes: float  # of the process, compiler included


@dataclass(frozen=True)
class Quadratic:
    """What of an algorithm is quadratic in the team, and what to use instead."""

    what: str
    instead: str


def team_cost(learner: AbstractLearner, spec: Spec, agents: int, budget: float) -> TeamCost:
    """A training step and a decision among so many. A program that would not fit into memory is only compiled."""
    run = Training(crowd(spec, agents), learner, steps=AGENT_STEPS_PER_CALL // agents)
    args, program = run.args, lowered(advance, *run.args).compile()
    megabytes, seconds = megabytes_of(program), math.nan
    if megabytes < 0.7 * available_megabytes():
        seconds = seconds_per_call(lambda: program(*args), budget) / run.steps
    decision = decision_microseconds(learner, spec, agents, budget / 2)
    return TeamCost(agents, 1e6 * seconds, decision, megabytes, peak_megabytes())


def available_megabytes() -> float:
    """Memory that nobody uses; where the system does not tell, there is no limit."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (ValueError, AttributeError, OSError):
        return math.inf


def variants(algorithm: str, learner: AbstractLearner) -> dict[str, AbstractLearner]:
    """An algorithm as it is for small teams and, if that has a factor per pair, as it is for large ones."""
    large = with_agent_factors(learner)
    return {algorithm: learner} | ({} if large == learner else {f"{algorithm}, Factored": large})


def quadratic_part(algorithm: str, learner: AbstractLearner) -> Quadratic | None:
    """What grows with the square of the team; None if nothing does."""
    kinds = Signed, Star, PerEdge, AttentionHead
    parts = jax.tree.leaves(learner, is_leaf=lambda part: isinstance(part, kinds))
    if any(isinstance(part, Signed) and isinstance(part.graph, CompleteGraph) for part in parts):
        return Quadratic("a table of utilities for every pair", "ciao-s")
    if isinstance(learner, DGN) or any(isinstance(part, AttentionHead) for part in parts):
        return Quadratic("attention of all to all", LINEAR)
    if any(isinstance(part, PerEdge) for part in parts):
        return Quadratic("a factor for every pair", f"{algorithm}, Factored")
    if learner.joint:
        return Quadratic("trains in every slot, each seeing all", LINEAR)
    return None


def growth(costs: Sequence[TeamCost]) -> float:
    """p, if the cost of a training step grows like the team's size to the power p: by the two largest measured."""
    measured = [cost for cost in costs if not math.isnan(cost.training_microseconds)][-2:]
    if len(measured) < 2:
        return math.nan
    small, large = measured
    times = large.training_microseconds / small.training_microseconds
    return math.log(times) / math.log(large.agents / small.agents)
