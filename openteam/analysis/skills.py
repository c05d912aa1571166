"""How good a teammate type is: its mean return in the learner's slot, among the pool's teammates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import jax.numpy as jnp

from openteam.core.policy import AbstractPolicy
from openteam.rollout.episodes import Episodes, evaluate
from openteam.task import Task
from openteam.teammates.weights_file import Skill
from openteam.views.full import FullView

EPISODES = 512
SEED = 0
TOLERANCE = 3.0
"""How many half-widths of its 95 % interval a skill may be off: other machines round otherwise, so play otherwise."""


@runtime_checkable
class Described(Protocol):
    """A family that says how its members behave."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """One a member."""
        ...


@dataclasses.dataclass(frozen=True)
class Type:
    """A teammate type of a task."""

    name: str
    sentence: str
    policy: AbstractPolicy
    split: str
    """The first split whose pool it is in."""


def types_of(task: Task) -> Iterator[Type]:
    """Every type of a task's pool, and of the pools of its splits."""
    seen: set[str] = set()
    for split in task.split_names:
        for family in task.split(split).pool.families:
            sentences = family.sentences if isinstance(family, Described) else ("",) * family.size
            for index, (name, sentence) in enumerate(zip(family.names, sentences, strict=True)):
                if name not in seen:
                    seen.add(name)
                    yield Type(name, sentence, family.member(jnp.asarray(index)), split)


def play_type(policy: AbstractPolicy, task: Task, episodes: int) -> Episodes:
    """Episodes of a type in the learner's slot. It sees everything there, as teammates do."""
    return evaluate(policy, dataclasses.replace(task, view=FullView()), episodes=episodes, seed=SEED)


def measure(policy: AbstractPolicy, task: Task, episodes: int = EPISODES) -> Skill:
    """A type's skill in this task, and the range it must lie in from now on."""
    played = play_type(policy, task, episodes)
    margin = TOLERANCE * played.interval
    mean, low, high = (round(value, 4) for value in (played.mean, played.mean - margin, played.mean + margin))
    return Skill(task.name, mean, low, high, episodes)
