"""How bodies move: pushed by their own force, by each other and by walls, slowed by drag."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.core.checked import AbstractChecked
from openteam.errors import check_in, check_not_negative, check_positive
from openteam.worlds.fortattack.arena import Arena
from openteam.worlds.fortattack.state import EAST, NORTH, SOUTH, TURN_LEFT, TURN_RIGHT, WEST, gaps, length


class Movement(AbstractChecked):
    """Discs of mass 1. A body that overlaps another or a wall is pushed out like by a spring."""

    radius: float = eqx.field(static=True, default=0.05)
    """Radius of every agent."""
    force: float = eqx.field(static=True, default=3.0)
    """Force of an agent's own move."""
    drag: float = eqx.field(static=True, default=0.25)
    """Fraction of the velocity that is lost in every step."""
    stiffness: float = eqx.field(static=True, default=100.0)
    """Force per overlap that pushes bodies apart."""
    top_speed: float = eqx.field(static=True, default=3.0)
    """Speeds are clipped to this; an agent's own force alone reaches 1.2 at most."""
    tick: float = eqx.field(static=True, default=0.1)
    """Duration of a step."""
    turn: float = eqx.field(static=True, default=0.17)
    """Radians of one turn."""
    wrap_angle: bool = eqx.field(static=True, default=True)
    """Keep angles within [0, 2 pi). The released code lets them grow: a turn right adds 2 pi - 0.17."""

    def __check_init__(self) -> None:
        check_positive(self, "radius", "top_speed", "tick")
        check_not_negative(self, "force", "stiffness", "turn")
        check_in(self, 0.0, 1.0, "drag")

    @property
    def reach(self) -> float:
        """The largest distance that a body moves in a step."""
        return self.top_speed * self.tick

    def move(
        self,
        arena: Arena,
        position: Float[Array, "slots 2"],
        velocity: Float[Array, "slots 2"],
        actions: Int[Array, "slots"],
        moving: Bool[Array, "slots"],
    ) -> tuple[Float[Array, "slots 2"], Float[Array, "slots 2"]]:
        """Positions and velocities one step later. A body that is not ``moving`` stays and collides with nobody."""
        force = self.thrust(actions) + self.contact(position, moving) + self.walls(arena, position)
        after = (1 - self.drag) * velocity + self.tick * force
        speed = length(after[:, 0], after[:, 1])
        after = after * jnp.minimum(1.0, self.top_speed / jnp.maximum(speed, self.top_speed))[:, None]
        after = jnp.where(moving[:, None], after, 0.0)
        return position + self.tick * after, after

    def thrust(self, actions: Int[Array, "slots"]) -> Float[Array, "slots 2"]:
        """The force of each agent's own action."""
        east = self.force * ((actions == EAST).astype(jnp.float32) - (actions == WEST))
        north = self.force * ((actions == NORTH).astype(jnp.float32) - (actions == SOUTH))
        return jnp.stack([east, north], 1)

    def contact(self, position: Float[Array, "slots 2"], moving: Bool[Array, "slots"]) -> Float[Array, "slots 2"]:
        """The force of other bodies, in proportion to the overlap. Discs with the same centre do not push."""
        east, north = gaps(position)
        distance = length(east, north)
        overlap = jnp.maximum(2 * self.radius - distance, 0.0)
        touching = moving[:, None] & moving[None, :] & (distance > 0)
        push = jnp.where(touching, self.stiffness * overlap / jnp.where(distance > 0, distance, 1.0), 0.0)
        return -jnp.stack([(push * east).sum(1), (push * north).sum(1)], 1)

    def walls(self, arena: Arena, position: Float[Array, "slots 2"]) -> Float[Array, "slots 2"]:
        """The force of the walls, in proportion to how far a disc reaches into them."""
        room = jnp.array([arena.half_width - self.radius, arena.half_height - self.radius])
        return self.stiffness * (jnp.clip(position, -room, room) - position)

    def rotate(self, angle: Float[Array, "slots"], actions: Int[Array, "slots"]) -> Float[Array, "slots"]:
        """Headings after this step's turns."""
        left = jnp.where(actions == TURN_LEFT, self.turn, 0.0)
        turned = angle + jnp.where(actions == TURN_RIGHT, 2 * math.pi - self.turn, left)
        return jnp.where(turned >= 2 * math.pi, turned - 2 * math.pi, turned) if self.wrap_angle else turned
