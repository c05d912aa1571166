"""Who is hit by a shot, and for how long that takes them out."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from openteam.core.checked import AbstractChecked
from openteam.errors import UserError, check_not_negative, check_positive
from openteam.worlds.fortattack.state import gaps, is_guard, length


class Shooting(AbstractChecked):
    """A shot covers a triangle at once. Every opponent with its centre inside is hit, even behind others."""

    muzzle: float = eqx.field(static=True, default=0.05)
    """The triangle's apex is this far ahead of the shooter's centre."""
    edge: float = eqx.field(static=True, default=0.8)
    """Length of the two edges from the apex."""
    half_angle: float = eqx.field(static=True, default=math.pi / 8)
    """Between the heading and each of these edges, in radians."""
    longest: int = eqx.field(static=True, default=80)
    """Steps out after a hit from the closest distance."""
    closest: float = eqx.field(static=True, default=0.1)
    """The time out is longest at this distance and below; two agents of the default radius touch at 0.1 (released: 0).
    """
    harmless: float = eqx.field(static=True, default=0.95)
    """The distance where the time out would be 0, linear in between; no default shot reaches that far."""
    slack: float = eqx.field(static=True, default=1e-3)
    """Added to the time out before it is cut to whole steps, so that a rounding error does not cost a step (released:
    0)."""

    def __check_init__(self) -> None:
        check_not_negative(self, "muzzle", "longest", "slack")
        check_positive(self, "edge", "half_angle")
        if not 0 <= self.closest < self.harmless:
            raise UserError(
                f"The time out falls from the distance `closest` to the distance `harmless`, 0 <= closest < harmless; "
                f"got {self.closest} and {self.harmless}."
            )

    @property
    def depth(self) -> float:
        """From the apex to the far edge, along the heading."""
        return self.edge * math.cos(self.half_angle)

    def in_range(self, position: Float[Array, "slots 2"], angle: Float[Array, "slots"]) -> Bool[Array, "slots slots"]:
        """Whether the triangle of each agent (row), if it shot now, would cover each other (column); edges included.

        In the frame of the shooter: ahead of the apex by at most ``depth``, and aside by at most tan(half_angle) times
        as much.
        """
        east, north = gaps(position)
        along_east, along_north = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        ahead = along_east * east + along_north * north - self.muzzle
        aside = jnp.abs(along_east * north - along_north * east)
        return (aside <= math.tan(self.half_angle) * ahead) & (ahead <= self.depth)

    def hits(
        self, position: Float[Array, "slots 2"], angle: Float[Array, "slots"], shot: Bool[Array, "slots"],
        present: Bool[Array, "slots"],
    ) -> Bool[Array, "slots slots"]:  # fmt: skip
        """Whom (column) each shooter (row) hits: only opponents, all at once, so two may hit each other."""
        guard = is_guard(len(shot))
        opponents = np.not_equal(guard[:, None], guard[None, :])
        return self.in_range(position, angle) & opponents & shot[:, None] & present[None, :]

    def time_out(self, position: Float[Array, "slots 2"], hits: Bool[Array, "slots slots"]) -> Int[Array, "slots"]:
        """Steps that everybody is out: more for a nearer shooter, and added up over shooters."""
        share = (self.harmless - length(*gaps(position))) / (self.harmless - self.closest)
        strength = jnp.where(hits, jnp.clip(share, 0.0, 1.0), 0.0).sum(0)
        return jnp.floor(self.longest * strength + self.slack).astype(jnp.int32)
