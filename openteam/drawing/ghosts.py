"""What the learner believes, over a picture of what is true: a ghost wherever it thinks that a teammate is."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, UInt8

from openteam.core.policy import AbstractPolicy, Belief
from openteam.core.world import AbstractWorld, LocatingWorld
from openteam.errors import UserError
from openteam.rollout.belief_scores import explanation_shapes
from openteam.task import Task

GHOST = "#ff1493"  # nothing else is as pink
RADIUS, RIM = 0.47, 0.1  # of a cell: around an agent, not over it
FILL = 0.2  # how opaque a ghost is inside its rim
DASHES = 8  # of a rim, so that nobody takes it for a body


def check_ghosts(policy: AbstractPolicy, task: Task, who: str = "") -> None:
    """Raise unless this policy believes its teammates to be somewhere, and the world can tell where."""
    locating(task.world)
    belief = explanation_shapes(policy, task).belief
    if belief is None or belief.agents is None:
        raise UserError(
            f"{who or type(policy).__name__} does not infer where its teammates are, so its belief cannot be drawn: "
            "give a run of ae-gpl, vae-gpl or pf-gpl, or leave the belief out."
        )


def locating(world: AbstractWorld[Any]) -> LocatingWorld:
    """The same world, known to place believed agents; a ``UserError`` if it cannot."""
    if not isinstance(world, LocatingWorld):
        raise UserError(
            f"{type(world).__name__} cannot tell where a believed agent is, as Foraging, Wolfpack and Navigation can: "
            "give it a size and a method locate(agents), or leave the belief out."
        )
    return world


def believed_agents(belief: Belief) -> float:
    """How many agents the learner expects there to be, with itself."""
    return 1 + float(belief.weight @ belief.exists[:, 1:].sum(-1))


def draw_ghosts(
    picture: UInt8[np.ndarray, "height width 3"], world: AbstractWorld[Any], belief: Belief
) -> UInt8[np.ndarray, "height width 3"]:
    """The picture with a ghost for every teammate in every hypothesis, as opaque as it is likely to be there.

    What several hypotheses put at one place adds up. Who is believed to be off the grid is drawn at its edge.
    """
    grid, opacity = locating(world), np.zeros(picture.shape[:2])
    cells = np.clip(grid.locate(jnp.asarray(belief.agents)), 0, grid.size - 1)[:, 1:].reshape(-1, 2)
    likely = (belief.weight[:, None] * belief.exists)[:, 1:].ravel()
    for middle, share in zip((cells + 0.5) / grid.size * opacity.shape, likely, strict=True):
        add_ghost(opacity, middle, len(picture) / grid.size, float(share))
    colour = np.array([int(GHOST[at : at + 2], 16) for at in (1, 3, 5)])
    return (picture + (colour - picture) * np.minimum(opacity, 1)[..., None]).round().astype(np.uint8)


def add_ghost(
    opacity: Float[np.ndarray, "height width"], middle: Float[np.ndarray, "2"], unit: float, share: float
) -> None:
    """Add a dashed ring with a light inside to what covers a picture, in place; a cell has ``unit`` pixels."""
    corner = np.maximum(middle - 0.5 * unit, 0).astype(int)
    near = opacity[tuple(slice(start, start + int(unit) + 2) for start in corner)]
    down, right = np.indices(near.shape) + (corner + 0.5 - middle)[:, None, None]
    away = np.hypot(down, right)
    disc, hole = (np.clip(radius * unit - away + 0.5, 0, 1) for radius in (RADIUS, RADIUS - RIM))
    dashed = np.where(np.cos(DASHES * np.arctan2(down, right)) > -0.4, 1, FILL)
    near += share * ((disc - hole) * dashed + hole * FILL)
