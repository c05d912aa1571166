"""What a user hands to a deployed agent, as arrays; a mistake in it is told in one sentence."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from openteam.catalogue import did_you_mean
from openteam.core.checked import short
from openteam.deploy.interface import Interface
from openteam.errors import UserError

Team = Mapping[Any, Any] | Iterable[tuple[Any, Any]]
"""Features of everybody in sight by id; as pairs where ids might be given twice."""


def read_team(team: Team, learner: Hashable, size: int) -> tuple[list[Hashable], Float[np.ndarray, "agents feat"]]:
    """Ids of the teammates in sight, and everybody's features, the learner's first."""
    rows = read_pairs(team)
    if not rows:
        raise UserError(
            f"The team is empty: give the features of everybody in sight, the learner {learner!r} included."
        )
    if learner not in rows:
        known = ", ".join(map(repr, list(rows)[:5]))
        raise UserError(
            f"The learner {learner!r} is not in the team, which has {known}. Give its features too, or say who it is: "
            "Agent.load(run, learner=...)."
        )
    mine = rows.pop(learner)
    given = [mine, *rows.values()]
    numbers = as_rows(given, size)
    if numbers is None or not np.isfinite(numbers).all():
        for who, features in zip([learner, *rows], given, strict=True):
            read_numbers(f"{who!r}", features, size)
    assert numbers is not None
    return list(rows), numbers


def read_pairs(team: Team) -> dict[Hashable, Any]:
    """Features by id, nobody twice."""
    rows: dict[Hashable, Any] = {}
    if isinstance(team, Mapping):
        return rows | dict(team.items())
    try:
        for who, features in team:
            if who in rows:
                raise UserError(f"{who!r} is in the team twice. Every agent needs an id of its own.")
            rows[who] = features
    except (TypeError, ValueError):
        raise UserError(
            "A team is a dictionary from ids to features, or pairs of both, ids being words or numbers; got "
            f"{short(team)}."
        ) from None
    return rows


def as_rows(given: Sequence[Any], size: int) -> Float[np.ndarray, "agents feat"] | None:
    """All rows at once; None unless they are numbers, ``size`` of them each."""
    try:
        rows = np.array(given, np.float32)
    except (TypeError, ValueError):
        return None
    return rows if rows.shape == (len(given), size) else None


def read_numbers(whose: str, given: Any, size: int) -> Float[np.ndarray, "size"]:
    """One row of numbers, or a sentence about it."""
    try:
        numbers = np.array(() if given is None else given, np.float32)
    except (TypeError, ValueError):
        raise UserError(f"The features of {whose} must be {size} numbers; got {short(given)}.") from None
    if numbers.shape != (size,):
        found = f"{len(numbers)} numbers" if numbers.ndim == 1 else f"an array of shape {numbers.shape}"
        raise UserError(f"The features of {whose} must be {size} numbers, as in training; got {found}.")
    if not np.isfinite(numbers).all():
        place = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise UserError(f"The features of {whose} must be finite; number {place} is {numbers[place]}.")
    return numbers


def read_legal(legal: Collection[Any] | None, interface: Interface) -> Bool[np.ndarray, "actions"]:
    """Which actions may be chosen: all by default, or a truth value for each, or the names of those that may."""
    names = interface.actions
    if legal is None:
        return np.ones(len(names), bool)
    given = list(legal)
    if any(isinstance(item, str) for item in given):
        allowed = np.zeros(len(names), bool)
        allowed[[read_action(item, interface) for item in given]] = True
    else:
        allowed = np.array(given, bool) if all(item in (0, 1) for item in given) else np.zeros(0, bool)
        if allowed.shape != (len(names),):
            raise UserError(
                f"legal is a True or False for each of the {len(names)} actions ({', '.join(names)}), or the names of "
                f"those that are legal; got {short(given)}."
            )
    if not allowed.any():
        raise UserError("No action is legal. At least one must be; leave legal out if all are.")
    return allowed


def read_action(action: Any, interface: Interface) -> int:
    """The number of an action that is given by name or number."""
    names = interface.actions
    if isinstance(action, str):
        if action not in names:
            raise UserError(f"There is no action {action!r}.{did_you_mean(action, names)} Actions: {', '.join(names)}.")
        return names.index(action)
    if not isinstance(action, (int, np.integer)) or not 0 <= action < len(names):
        raise UserError(f"Actions are 0 to {len(names) - 1} ({', '.join(names)}); got {short(action)}.")
    return int(action)
