"""How much a run explored when it was evaluated, beside how much the published runs did at that step.

A shorter run explores less at the same step than a longer one with the same schedule, and so is ahead of it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from openteam.analysis.compare import Group
from openteam.analysis.paper import published_exploration_steps

CLOSE = 0.02
"""Explorations that differ by less than this are the same."""
SYMBOLS = {"epsilon": "ε", "temperature": "τ"}


def caveat(group: Group, steps: Sequence[int]) -> str:
    """In what a group's exploration differs at these steps from that of its published curve; empty if in nothing."""
    over = published_exploration_steps(group.task.name)
    found = schedule_of(group.runs[0].config.get("learner", {}))
    if over is None or found is None:
        return "other exploration"
    name, schedule = found
    ours = np.mean([value_at(schedule, step, schedule["fraction"] * group.steps) for step in steps])
    theirs = np.mean([value_at(schedule, step, float(over)) for step in steps])
    return "" if abs(ours - theirs) < CLOSE else f"{SYMBOLS[name]} {theirs:.2f} there, {ours:.2f} here"


def schedule_of(learner: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The name and the schedule of a learner's exploration, out of its configuration; None if it has none."""
    for part in (learner.get("control"), learner):
        for name in SYMBOLS:
            if isinstance(part, dict) and isinstance(part.get(name), dict):
                return name, part[name]
    return None


def value_at(schedule: dict[str, Any], step: int, over: float) -> float:
    """A schedule's value at a step, if it reaches its last one after ``over`` steps."""
    return schedule["first"] + (schedule["last"] - schedule["first"]) * min(step / over, 1.0)
