"""What an environment tells at each step, as arrays of one size: of one environment, or stacked over several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int


class Sizes(NamedTuple):
    """All that is fixed: slots, features of an agent, shared features, actions."""

    slots: int
    features: int
    shared: int
    actions: int


class Seen(NamedTuple):
    """The state between two steps: what losses may read, what the learner sees of it, and who is new."""

    agents: Float[Any, "*envs slots feat"]  # zeros in empty slots
    shared: Float[Any, "*envs shared"]
    present: Bool[Any, "*envs slots"]
    visible: Bool[Any, "*envs slots"]  # to the learner
    new: Bool[Any, "*envs slots"]  # to the learner
    arrived: Bool[Any, "*envs slots"]  # new to everybody
    legal: Bool[Any, "*envs slots actions"]
    types: Int[Any, "*envs slots"]  # which of the user's teammates acts here
    starts: Bool[Any, "*envs"]
    previous_actions: Int[Any, "*envs slots"]


class Outcome(NamedTuple):
    """A step: what it brought, where it led, and what there is now, which opens an episode if another one ended."""

    reward: Float[Any, "*envs"]
    discount: Float[Any, "*envs"]
    ends: Bool[Any, "*envs"]
    actions: Int[Any, "*envs slots"]  # everybody's, as taken
    rewards: Float[Any, "*envs slots"]
    after: Seen
    now: Seen
    seconds: Float[Any, "*envs"]  # spent in the user's code


Told = TypeVar("Told", Seen, Outcome)


def stack(told: Sequence[Told]) -> Told:
    """Several environments as one, along a new first axis."""
    return _columns(told, lambda column: np.stack([np.asarray(item) for item in column]))


def join(told: Sequence[Told]) -> Told:
    """Several stacks as one."""
    return told[0] if len(told) == 1 else _columns(told, lambda column: np.concatenate(column))


def _columns(told: Sequence[Any], put: Any) -> Any:
    first = told[0]
    columns = (list(column) for column in zip(*told, strict=True))
    return type(first)(*(_columns(one, put) if isinstance(one[0], Seen) else put(one) for one in columns))
