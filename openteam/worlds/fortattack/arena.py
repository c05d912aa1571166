"""Where FortAttack is played, and where agents enter it."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from openteam.core.checked import AbstractChecked
from openteam.errors import check_in, check_positive
from openteam.worlds.fortattack.state import is_guard, length


class Arena(AbstractChecked):
    """A rectangle around (0, 0). The fort is a disc around the middle of the northern wall, the door."""

    half_width: float = eqx.field(static=True, default=1.0)
    """From the middle to the western and eastern walls."""
    half_height: float = eqx.field(static=True, default=0.9)
    """From the middle to the southern and northern walls (released: 0.8)."""
    fort_radius: float = eqx.field(static=True, default=0.15)
    """An attacker with its centre nearer to the door than this has reached the fort."""
    entrance: float = eqx.field(static=True, default=0.2)
    """Depth of the strips along the walls where agents enter, as a fraction of the half height."""

    def __check_init__(self) -> None:
        check_positive(self, "half_width", "half_height", "fort_radius")
        check_in(self, 0.0, 1.0, "entrance")

    @property
    def door(self) -> tuple[float, float]:
        return 0.0, self.half_height

    def to_door(self, position: Float[Array, "slots 2"]) -> Float[Array, "slots"]:
        """Everybody's distance to the door."""
        east, north = self.door
        return length(position[:, 0] - east, position[:, 1] - north)

    def enter(self, uniform: Float[Array, "2 slots"]) -> Float[Array, "slots 2"]:
        """Where agents appear: attackers along the whole southern wall, guards in front of the door."""
        guard = is_guard(uniform.shape[1])
        reach = np.where(guard, 0.4 * self.fort_radius, self.half_width).astype(np.float32)
        side = np.where(guard, self.half_height, -self.half_height).astype(np.float32)
        return jnp.stack([(2 * uniform[0] - 1) * reach, side * (1 - self.entrance * uniform[1])], 1)


def heading(guard: Bool[np.ndarray, "slots"]) -> Float[Array, "slots"]:
    """Guards enter facing south, attackers facing north."""
    return jnp.asarray(np.where(guard, 1.5 * np.pi, 0.5 * np.pi), jnp.float32)
