"""A moment and what the learner makes of it, as numbers and words for the page."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from openteam.core.policy import Belief, Explanation
from openteam.core.world import LocatingWorld
from openteam.viewer.moments import Look, Moment
from openteam.viewer.scenes import scene_of
from openteam.viewer.shares import existence, explains_pairs, pair_means, pairwise_share, singular_share

Frame = dict[str, Any]
FAINTEST = 0.02  # less likely hypotheses are not drawn
DIGITS, TYPE_DIGITS = 5, 3  # that numbers are sent with


def frame_of(world: Any, moment: Moment, look: Look | None) -> Frame:
    """What the page shows of a moment; of the last one of an episode nobody decides anything."""
    env = moment.env
    scene = scene_of(world, env.world)
    frame: Frame = {
        "step": int(env.clock),
        "scene": scene,
        "present": np.flatnonzero(env.world.present).tolist(),
        "types": np.asarray(env.type_ids).tolist(),
        "visits": np.asarray(env.visits).tolist(),
    }
    if look is None:
        return frame
    sees = np.asarray(look.sees)
    return frame | {
        "actions": np.asarray(look.actions).tolist(),
        "visible": np.flatnonzero(look.visible).tolist(),
        "sees": None if sees.all() else ["".join(map(str, row)) for row in sees.astype(int)],
        "why": reasons(world, look),
    }


def reasons(world: Any, look: Look) -> Frame:
    """The explanation, as far as there is one."""
    why, visible, action = look.decision.explanation, np.asarray(look.visible), int(look.decision.action)
    exists = existence(why, visible)
    told: Frame = {
        "action": action,
        "values": tidy(why.action_values),
        "probabilities": tidy(why.probabilities),
        "value": tidy(why.value),
        "predicted": tidy(why.predicted),
        "type_vectors": tidy(why.types, TYPE_DIGITS),
    }
    if explains_pairs(why):
        told |= pair_reasons(why, exists, action)
    if why.belief is not None:
        told["belief"] = {"exists": tidy(exists), "ghosts": ghosts(world, why.belief)}
    return told


def pair_reasons(why: Explanation, exists: np.ndarray, action: int) -> Frame:
    """Shares of the values, utilities of each agent, of each pair on average, and of the learner's pairs in full."""
    there = np.flatnonzero(exists > FAINTEST)
    return {
        "singular_share": tidy(singular_share(why)),
        "pairwise_share": tidy(pairwise_share(why, exists, np.array(why.predicted))),
        "pair_means": tidy(pair_means(why, exists, action)),
        "pairs": {int(slot): tidy(np.asarray(why.pairwise)[0, slot]) for slot in there if slot > 0},
        "exists": tidy(exists),
    }


def ghosts(world: Any, belief: Belief) -> list[list[float]]:
    """Slot, x, y and probability of every agent of every hypothesis, where the world can place it."""
    if belief.agents is None or not isinstance(world, LocatingWorld):
        return []
    cells = np.clip(world.locate(jnp.asarray(belief.agents)), 0, world.size - 1)
    likely = np.asarray(belief.weight)[:, None] * np.asarray(belief.exists)
    return [
        [int(slot), *tidy(cells[sample, slot][::-1] + 0.5), tidy(likely[sample, slot])]
        for sample, slot in np.argwhere(likely > FAINTEST)
        if slot > 0
    ]


def tidy(numbers: Any, digits: int = DIGITS) -> Any:
    """Numbers as lists, with the digits that anybody reads; None stays None, and so does what is not finite."""
    if numbers is None:
        return None
    values = np.asarray(numbers, float)
    if values.ndim:
        return [tidy(part, digits) for part in values]
    return float(f"{float(values):.{digits}g}") if np.isfinite(values) else None
