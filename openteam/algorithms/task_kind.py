"""What presets depend on: the kind of task that an algorithm is for."""

from __future__ import annotations

from dataclasses import dataclass

from openteam.host.task import HostTask
from openteam.task import Task
from openteam.views.full import FullView
from openteam.worlds.fortattack import FortAttack


@dataclass(frozen=True)
class TaskKind:
    """The default stands for teams of up to five on a grid that they see in full."""

    slots: int = 3
    """Agents in training, at most."""
    max_agents: int = 5
    """The largest team of the task and its splits."""
    fortattack: bool = False
    """The world is FortAttack, for which the released networks are larger."""
    partial: bool = False
    """The learner does not see everything."""


def kind_of(task: Task | HostTask) -> TaskKind:
    """The kind of a task."""
    if isinstance(task, HostTask):
        return TaskKind(slots=task.slots, max_agents=task.max_agents, partial=task.sees is not None)
    return TaskKind(
        slots=task.slots,
        max_agents=task.max_agents,
        fortattack=isinstance(task.world, FortAttack),
        partial=not isinstance(task.view, FullView),
    )
