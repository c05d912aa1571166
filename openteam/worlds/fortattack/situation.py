"""States of FortAttack written by hand, for tests and pictures."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from openteam.errors import UserError
from openteam.worlds.fortattack.state import FortState

Number = float | int
Pose = tuple[Number, Number, Number]  # x, y, and the heading in degrees, counter-clockwise from east


def situation(guards: Sequence[Pose | None], attackers: Sequence[Pose | None], clock: int = 0) -> FortState:
    """A state with everybody at rest at these poses; None for an absent agent. The first guard is the learner."""
    if len(guards) != len(attackers):
        raise UserError(
            f"Both teams have the same number of slots; got {len(guards)} guards and {len(attackers)} attackers. Fill "
            "up with None."
        )
    poses = [*guards, *attackers]
    x, y, degrees = np.array([pose or (0.0, 0.0, 0.0) for pose in poses], np.float32).T
    return FortState(
        present=jnp.array([pose is not None for pose in poses]),
        position=jnp.stack([x, y], 1),
        velocity=jnp.zeros((len(poses), 2)),
        angle=jnp.asarray(np.deg2rad(degrees), jnp.float32),
        shot=jnp.zeros(len(poses), bool),
        out_for=jnp.zeros(len(poses), jnp.int32),
        clock=jnp.array(clock, jnp.int32),
    )
