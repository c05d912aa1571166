"""What a policy was trained to be given: how long rows are, what stands for somebody out of sight, names of actions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from openteam.core.layout import Documented, Layout
from openteam.core.types import Spec
from openteam.host.task import HostTask
from openteam.task import Task, first_features
from openteam.views.full import FullView


@dataclass(frozen=True)
class Interface:
    """The part of a task that a policy knows of."""

    task: str
    spec: Spec
    slots: int
    """How many agents, the learner included, training had room for."""
    absent: tuple[float, ...]
    """The row of a slot in which nobody is seen."""
    keeps_unseen: bool
    """Whether somebody who is not seen may still be there: the view is a partial one."""
    layout: Layout | None
    """What the world says about its features; None if it says nothing."""

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Their names; numbers where the world has none."""
        return self.layout.actions if self.layout else tuple(map(str, range(self.spec.actions)))

    @cached_property
    def absent_row(self) -> Float[np.ndarray, "feat"]:
        return np.array(self.absent, np.float32)


def interface_of(task: Task | HostTask) -> Interface:
    """What a policy that was trained on a task expects. Environments in plain Python show absent agents as zeros."""
    if isinstance(task, HostTask):
        absent = (0.0,) * task.sizes.features
        return Interface(task.name, task.spec, task.slots, absent, task.sees is not None, None)
    alone = jnp.arange(task.slots) == 0
    agents, _ = first_features(task.world, jax.random.key(0), alone)
    absent = agents[-1] if task.slots > 1 else jnp.zeros(agents.shape[-1])
    layout = task.world.layout(task.max_agents) if isinstance(task.world, Documented) else None
    keeps_unseen = not isinstance(task.view, FullView)
    return Interface(task.name, task.spec, task.slots, tuple(absent.tolist()), keeps_unseen, layout)
