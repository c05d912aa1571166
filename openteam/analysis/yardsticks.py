"""What the released code's learned agents do, in numbers, beside what our stand-ins for them do.

The numbers of the released agents were measured with their own weights in the task named, with our other types around
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.rollout.episodes import Step, play
from openteam.task import Task
from openteam.views.full import FullView

EPISODES, SEED = 1024, 0
Count = Callable[[Step], Float[Array, ""]]


@dataclasses.dataclass(frozen=True)
class Yardstick:
    """One number of a released agent, and how near our stand-in must come."""

    stands_for: str
    task: str
    type: str
    """In the learner's slot."""
    quantity: str
    released: float
    tolerance: float


@dataclasses.dataclass(frozen=True)
class Measured:
    """A yardstick and what our stand-in gives, with half its 95 % interval over episodes."""

    yardstick: Yardstick
    mean: float
    interval: float

    @property
    def holds(self) -> bool:
        """Whether it may be as near as it must, for all that these episodes can tell."""
        return abs(self.mean - self.yardstick.released) <= self.yardstick.tolerance + self.interval

    def __str__(self) -> str:
        one = self.yardstick
        return (
            f"{one.stands_for}: {one.type} in {one.task} has {self.mean:.2f} ± {self.interval:.2f} {one.quantity} per "
            f"episode; the released {one.released:g}, to be within {one.tolerance:g}"
        )


def captures(step: Step) -> Float[Array, ""]:
    """Prey that were captured in this step."""
    return jnp.where(step.counts, step.after.world.captured.sum(), 0).astype(jnp.float32)


def on_destination(step: Step) -> Float[Array, ""]:
    """Whether the learner stands on a destination."""
    there = (step.env.world.destination == step.after.world.position[0]).all(-1).any()
    return jnp.where(step.counts & there, 1.0, 0.0)


def reward(step: Step) -> Float[Array, ""]:
    """The learner's reward."""
    return jnp.where(step.counts, step.timestep.reward, 0.0)


QUANTITIES: dict[str, Count] = {"captures": captures, "steps on destinations": on_destination, "return": reward}

YARDSTICKS = (
    Yardstick("released prey", "wolfpack-released", "random", "captures", 3.5, 0.35),
    Yardstick("released prey", "wolfpack-released", "greedy", "captures", 7.5, 0.75),
    Yardstick("released prey", "wolfpack-released", "greedy", "return", -37.9, 3.8),
    Yardstick("A2C0", "navigation-partial-released", "avoids", "steps on destinations", 0.2, 0.5),
    Yardstick("A2C0", "navigation-partial-released", "avoids", "return", 0.0, 0.1),
    Yardstick("A2C5", "navigation-partial-released", "camps", "steps on destinations", 15.4, 1.5),
    # Wide: camps pays more penalties than A2C5 does, about -0.6.
    Yardstick("A2C5", "navigation-partial-released", "camps", "return", -0.21, 0.6),
)


def measure_all(make: Callable[[str], Task], episodes: int = EPISODES) -> Iterator[Measured]:
    """Every yardstick; episodes of one type in one task are played once."""
    played: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for one in YARDSTICKS:
        if (one.task, one.type) not in played:
            task = dataclasses.replace(make(one.task), view=FullView())
            played[one.task, one.type] = totals(task, policy_of(task, one.type), episodes)
        values = played[one.task, one.type][one.quantity]
        yield Measured(one, float(values.mean()), float(1.96 * values.std(ddof=1) / len(values) ** 0.5))


def totals(task: Task, policy: AbstractPolicy, episodes: int) -> dict[str, np.ndarray]:
    """All quantities that the world knows, summed over each episode."""
    known = {"return", "captures" if hasattr(task.world, "prey") else "steps on destinations"}
    counts = {name: count for name, count in QUANTITIES.items() if name in known}
    kept = play(task, policy, make_key(SEED), episodes, lambda step: {name: c(step) for name, c in counts.items()}).kept
    return {name: np.asarray(values).sum(0) for name, values in kept.items()}


def policy_of(task: Task, name: str) -> AbstractPolicy:
    """The type of that name in a task's pool."""
    family = next(family for family in task.pool.families if name in family.names)
    return family.member(jnp.asarray(family.names.index(name)))
