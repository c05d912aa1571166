"""FortAttack as a world."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.layout import Entry, Layout
from openteam.core.parts import Parts
from openteam.core.world import AbstractWorld, Marker
from openteam.errors import UserError
from openteam.worlds.fortattack.arena import Arena, heading
from openteam.worlds.fortattack.draw import markers, to_rgb, to_text
from openteam.worlds.fortattack.movement import Movement
from openteam.worlds.fortattack.rewards import AbstractRewards, Events, SparseRewards
from openteam.worlds.fortattack.shooting import Shooting
from openteam.worlds.fortattack.state import ACTION_NAMES, NONE, SHOOT, FortState, is_guard

SPEED = "lengths per unit of time"  # of which a step is Movement.tick


class FortAttack(AbstractWorld[FortState]):
    """Guards keep attackers from a fort until time is up. Both sides shoot.

    The first half of the slots are guards, slot 0 is the learner. An agent that is hit is out for a while: the state
    says for how long, and the openness ``Casualties`` removes it and brings it back.
    """

    arena: Arena = Arena()
    """The walls and the fort."""
    movement: Movement = Movement()
    """How bodies move."""
    shooting: Shooting = Shooting()
    """Which agents a shot hits, and for how long they are out."""
    rewards: AbstractRewards = SparseRewards()
    """The reward function."""
    steps: int = eqx.field(static=True, default=100)
    """After this many steps the fort is held and the game is over. It must equal the task's horizon."""
    learner_hit_ends: bool = eqx.field(static=True, default=True)
    """The game is over when slot 0 is hit. Turn it off to train all slots together, as ``Casualties.learner_stays``."""

    def __check_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"FortAttack lasts at least 1 step; got steps {self.steps}.")

    @property
    def actions(self) -> int:
        return len(ACTION_NAMES)

    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> FortState:
        slots = len(present)
        return FortState(
            present=present,
            position=self.arena.enter(jax.random.uniform(key, (2, slots))),
            velocity=jnp.zeros((slots, 2)),
            angle=heading(is_guard(slots)),
            shot=jnp.zeros(slots, bool),
            out_for=jnp.zeros(slots, jnp.int32),
            clock=jnp.zeros((), jnp.int32),
        )

    def step(
        self, key: Key[Array, ""], state: FortState, actions: Int[Array, "slots"]
    ) -> tuple[FortState, Float[Array, "slots"], Bool[Array, ""]]:
        """Shots first, from and at current positions; then agents that were not hit move."""
        del key  # nothing is random here
        guard = is_guard(len(actions))
        actions = jnp.where(state.present, actions, NONE)
        shot = actions == SHOOT
        hits = self.shooting.hits(state.position, state.angle, shot, state.present)
        hit = hits.any(0)
        alive = state.present & ~hit
        position, velocity = self.movement.move(self.arena, state.position, state.velocity, actions, alive)
        after = FortState(
            present=state.present,
            position=position,
            velocity=velocity,
            angle=self.movement.rotate(state.angle, actions),
            shot=shot,
            out_for=jnp.where(hit, self.shooting.time_out(state.position, hits), jnp.maximum(state.out_for - 1, 0)),
            clock=state.clock + 1,
        )
        door = self.arena.to_door(position)
        arrived = alive & ~guard & (door < self.arena.fort_radius)
        over = after.clock >= self.steps
        events = Events(
            shot=shot,
            scored=hits.any(1),
            hit=hit,
            before=self.arena.to_door(state.position),
            after=door,
            arrived=arrived,
            over=over,
            held=over & ~arrived.any(),
            cleared=(hit & ~guard).any() & ~(alive & ~guard).any(),
        )
        reward = jnp.where(state.present, self.rewards(events, guard), 0.0)
        return after, reward, over | arrived.any() | (hit[0] & self.learner_hit_ends)

    def dismiss(self, state: FortState, leaving: Bool[Array, "slots"]) -> FortState:
        return eqx.tree_at(lambda s: s.present, state, state.present & ~leaving)

    def admit(self, key: Key[Array, ""], state: FortState, joining: Bool[Array, "slots"]) -> FortState:
        new = self.start(key, joining)
        return FortState(
            present=state.present | joining,
            position=jnp.where(joining[:, None], new.position, state.position),
            velocity=jnp.where(joining[:, None], new.velocity, state.velocity),
            angle=jnp.where(joining, new.angle, state.angle),
            shot=state.shot & ~joining,
            out_for=jnp.where(joining, 0, state.out_for),
            clock=state.clock,
        )

    def legal(self, state: FortState) -> Bool[Array, "slots actions"]:
        """All actions are always legal."""
        return jnp.ones((len(state.present), self.actions), bool)

    def features(self, state: FortState) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        """x = position, angle, velocity, is a guard, is an attacker; zeros if absent. u is empty."""
        guard = is_guard(len(state.present))
        role = np.stack([guard, ~guard], 1).astype(np.float32)
        agents = jnp.concatenate([state.position, state.angle[:, None], state.velocity, role], 1)
        return jnp.where(state.present[:, None], agents, 0.0), jnp.zeros(0)

    def layout(self, slots: int) -> Layout:
        del slots
        arena, movement = self.arena, self.movement
        east, north = (half - movement.radius + movement.reach for half in (arena.half_width, arena.half_height))
        top = movement.top_speed
        turn = 2 * math.pi if movement.wrap_angle else math.inf
        agent = (
            Entry("x, from west to east", -east, east, 0, "lengths"),
            Entry("y, from south to north, where the fort is", -north, north, 0, "lengths"),
            Entry("angle of its heading, counter-clockwise from east, in radians", 0, turn, 0, "radians"),
            Entry("velocity along x", -top, top, 0, SPEED),
            Entry("velocity along y", -top, top, 0, SPEED),
            Entry("it is a guard", 0, 1, 0),
            Entry("it is an attacker", 0, 1, 0),
        )
        return Layout(agent, (), ACTION_NAMES, "A fast body may get beyond a wall, which pushes it back.")

    def rgb(self, state: FortState) -> np.ndarray:
        return to_rgb(state, self.arena, self.movement, self.shooting)

    def markers(self, state: FortState) -> list[Marker]:
        return markers(state, self.arena, self.movement)

    def text(self, state: FortState) -> str:
        return to_text(state, self.arena)

    def check(self, slots: int) -> None:
        if slots < 2 or slots % 2:
            raise UserError(f"FortAttack is played by two teams of equal size; got {slots} slots. Give an even number.")

    def check_parts(self, parts: Parts) -> None:
        if parts.horizon != self.steps:
            raise UserError(
                f"FortAttack ends after {self.steps} steps and the task's horizon is {parts.horizon}. Give both the "
                "same number, or the fort could never be held."
            )
        if parts.pool.teams is not None and parts.pool.teams % 2:
            raise UserError(
                f"FortAttack has two teams, guards and attackers; got a pool with teams {parts.pool.teams}. Use 2 for "
                "a type per team, or None for a type per agent."
            )
        # Only Casualties has this field: whoever is hit stays in the game under any other openness.
        stays = getattr(parts.openness, "learner_stays", self.learner_hit_ends)
        if stays != self.learner_hit_ends:
            raise UserError(
                f"A hit on the learner either ends the game or takes the learner out for a while; got learner_hit_ends "
                f"{self.learner_hit_ends} and the openness's learner_stays {stays}. Set both to True, or both to False "
                "to train all slots together."
            )
