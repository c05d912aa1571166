"""The reasons of a decision with ids and names of actions instead of slots and numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from openteam.core.policy import Belief, Explanation

Slots = Mapping[Hashable, int]


def by_id(
    why: Explanation,
    action: int,
    visible: Bool[np.ndarray, "slots"],
    slot_of: Slots,
    actions: Sequence[str],
) -> dict[str, Any]:
    """Everything that the policy can tell, as plain dictionaries and numbers; what it cannot is left out.

    ``predicted``, ``singular``, ``pairwise`` and ``types`` are about those in sight, ``belief`` about all that it
    remembers.
    """
    seen = {who: slot for who, slot in slot_of.items() if visible[slot]}
    teammates = {who: slot for who, slot in seen.items() if slot > 0}
    parts: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "action_values": (why.action_values, lambda values: named(values, actions)),
        "probabilities": (why.probabilities, lambda chances: named(chances, actions)),
        "value": (why.value, float),
        "predicted": (why.predicted, lambda chances: per_agent(chances, teammates, actions)),
        "singular": (why.singular, lambda utilities: per_agent(utilities, seen, actions)),
        "pairwise": (why.pairwise, lambda utilities: per_pair(utilities, seen, actions)),
        "types": (why.types, lambda types: {who: types[slot].tolist() for who, slot in seen.items()}),
        "belief": (why.belief, lambda belief: of_belief(belief, slot_of, actions)),
    }
    told = {name: tell(part) for name, (part, tell) in parts.items() if part is not None}
    return {"action": actions[action]} | told


def named(numbers: Any, actions: Sequence[str]) -> dict[str, float]:
    """A number per action."""
    return dict(zip(actions, np.asarray(numbers).tolist(), strict=True))


def per_agent(numbers: Any, slot_of: Slots, actions: Sequence[str]) -> dict[Hashable, dict[str, float]]:
    """A number per agent and action."""
    return {who: named(numbers[slot], actions) for who, slot in slot_of.items()}


def per_pair(numbers: Any, slot_of: Slots, actions: Sequence[str]) -> dict[tuple[Hashable, Hashable], Any]:
    """Every pair once: what its two actions add, as ``[(one, other)][action of one][action of other]``."""
    agents = list(slot_of.items())
    return {
        (one, other): {name: named(row, actions) for name, row in zip(actions, numbers[j, k], strict=True)}
        for place, (one, j) in enumerate(agents)
        for other, k in agents[place + 1 :]
    }


def of_belief(belief: Belief, slot_of: Slots, actions: Sequence[str]) -> dict[str, Any]:
    """Means over hypotheses by weight: who exists, what they do next, their features, and how many more there are."""
    weight = np.asarray(belief.weight)
    exists = np.tensordot(weight, belief.exists, 1)
    found: dict[str, Any] = {
        "exists": {who: float(exists[slot]) for who, slot in slot_of.items()},
        "others": float(np.delete(exists, list(slot_of.values())).sum()),
    }
    if belief.actions is not None:
        found["predicted"] = per_agent(np.tensordot(weight, belief.actions, 1), slot_of, actions)
    if belief.agents is not None:
        features = np.tensordot(weight, belief.agents, 1)
        found["features"] = {who: features[slot].tolist() for who, slot in slot_of.items()}
    if belief.shared is not None:
        found["shared"] = np.tensordot(weight, belief.shared, 1).tolist()
    return found
