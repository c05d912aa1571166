"""What spaces say, by the attributes that Gymnasium's have: nothing of it needs to be installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from openteam.errors import UserError

MASK = "action_mask"


def actions_of(space: Any, who: object) -> tuple[int, int]:
    """How many actions there are and the number of the first one, of a Discrete space or a plain whole number."""
    count = getattr(space, "n", space) if getattr(space, "shape", ()) == () else None  # MultiBinary has an n, too
    if isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count > 0:
        return int(count), int(getattr(space, "start", 0))
    raise UserError(
        f"The actions of {who} are {space}, and openteam chooses among a number of actions: action_space must return "
        "a Discrete space or a whole number. Wrap the environment so that each number stands for one of its actions."
    )


def without_mask(observation: Any, space: Any) -> tuple[Any, Any]:
    """The observation itself and its space, of one that comes with the actions that are legal."""
    if isinstance(observation, Mapping) and MASK in observation and "observation" in observation:
        return observation["observation"], None if space is None else space["observation"]
    return observation, space


def mask_of(observation: Any, info: Any) -> Any:
    """The actions that are legal, if an observation or its info says."""
    for source in (observation, info):
        if isinstance(source, Mapping) and MASK in source:
            return source[MASK]
    return None


def flatten(observation: Any, space: Any, who: object) -> Float[np.ndarray, "feat"]:
    """Any observation as numbers in a row: choices one-hot, everything else as it is."""
    spaces = getattr(space, "spaces", None)
    if isinstance(observation, Mapping):
        parts = [flatten(part, spaces[name] if spaces else None, who) for name, part in observation.items()]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)
    if isinstance(observation, tuple) and spaces:
        return np.concatenate([flatten(part, one, who) for part, one in zip(observation, spaces, strict=True)])
    if hasattr(space, "n") and np.ndim(observation) == 0:
        chosen = np.asarray(observation, int) - int(getattr(space, "start", 0))
        return (np.arange(int(space.n)) == chosen).astype(np.float32)
    try:
        return np.asarray(observation, np.float32).ravel()
    except (TypeError, ValueError):
        raise UserError(
            f"The observation of {who} is no array of numbers: {str(observation)[:60]}. Name a function that makes "
            "numbers of it: --task.features MODULE:FUNCTION, called with the environment, all observations and an id."
        ) from None
