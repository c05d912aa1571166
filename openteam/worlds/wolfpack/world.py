"""Wolfpack as a world."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.layout import Entry, Layout
from openteam.core.world import AbstractWorld, Marker
from openteam.errors import UserError
from openteam.worlds.wolfpack.draw import markers, to_rgb, to_text
from openteam.worlds.wolfpack.prey import AbstractPrey, FleeingPrey
from openteam.worlds.wolfpack.rules import effective, rewards, transition
from openteam.worlds.wolfpack.start import admit, respawn, start_state
from openteam.worlds.wolfpack.state import ACTION_NAMES, STAY, WolfpackState


class Wolfpack(AbstractWorld[WolfpackState]):
    """Hunters capture moving prey by standing beside one together, and pay for standing there alone. Never ends."""

    size: int = eqx.field(static=True, default=10)
    """Rows and columns of the square grid."""
    prey: int = eqx.field(static=True, default=2)
    """Prey on the grid; one that is captured comes back elsewhere."""
    behaviour: AbstractPrey = FleeingPrey()
    """The policy of the prey."""
    capture: float = eqx.field(static=True, default=2.0)
    """With n hunters beside a captured prey, each of them gets n times this."""
    close_penalty: float = eqx.field(static=True, default=0.5)
    """What a hunter pays for every step in which it is the only one beside a prey."""
    shaping: float = eqx.field(static=True, default=0.0)
    """Reward for each cell nearer to the nearest prey. None in the paper, 0.01 in its released code."""
    returns_elsewhere: bool = eqx.field(static=True, default=False)
    """A captured prey never comes back on a cell where one was captured, as in the released code. Else that cell is as
    likely as any other."""

    def __check_init__(self) -> None:
        if self.size < 2 or self.prey < 1:
            raise UserError(f"Wolfpack needs size >= 2 and prey >= 1; got size {self.size}, prey {self.prey}.")
        self.behaviour.check(self.prey)

    @property
    def actions(self) -> int:
        return len(ACTION_NAMES)

    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> WolfpackState:
        state = start_state(key, present, self.prey, self.size)
        return dataclasses.replace(state, prey_memory=self.behaviour.start())

    def step(
        self, key: Key[Array, ""], state: WolfpackState, actions: Int[Array, "slots"]
    ) -> tuple[WolfpackState, Float[Array, "slots"], Bool[Array, ""]]:
        k_prey, k_respawn = jax.random.split(key)
        state = dataclasses.replace(state, prey_memory=self.behaviour.watch(state, self.size))
        prey_actions = self.behaviour.act(k_prey, state, self.size)
        before = respawn(k_respawn, state, self.size, self.returns_elsewhere)
        after = transition(before, actions, prey_actions, self.size)
        reward = rewards(before, after, self.capture, self.close_penalty, self.shaping)
        return after, reward, jnp.zeros((), bool)

    def dismiss(self, state: WolfpackState, leaving: Bool[Array, "slots"]) -> WolfpackState:
        return eqx.tree_at(lambda s: s.present, state, state.present & ~leaving)

    def admit(self, key: Key[Array, ""], state: WolfpackState, joining: Bool[Array, "slots"]) -> WolfpackState:
        return admit(key, state, joining, self.size)

    def legal(self, state: WolfpackState) -> Bool[Array, "slots actions"]:
        return effective(state.position, self.size)

    def features(self, state: WolfpackState) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        """x = row, column; u = row and column of every prey, then which of up, right, down, left each of them faces.

        Absent hunters and hidden prey are (-1, -1), and a hidden prey faces nowhere. A prey that was captured in the
        last step is still where it was.
        """
        agents = jnp.where(state.present[:, None], state.position, -1)
        prey = jnp.where(state.shown[:, None], state.prey_position, -1)
        faces = (state.facing[:, None] == jnp.arange(4)) & state.shown[:, None]
        shared = jnp.concatenate([prey.ravel(), faces.ravel()])
        return agents.astype(jnp.float32), shared.astype(jnp.float32)

    def layout(self, slots: int) -> Layout:
        del slots
        edge, prey = self.size - 1, range(1, self.prey + 1)
        axes = ((number, axis) for number in prey for axis in ("row", "column"))
        cells = (Entry(f"{axis} of prey {number}", 0, edge, -1, "cells") for number, axis in axes)
        faces = (Entry(f"prey {number} faces {way}", 0, 1, 0) for number in prey for way in ACTION_NAMES[:STAY])
        hunter = Entry("row", 0, edge, -1, "cells"), Entry("column", 0, edge, -1, "cells")
        return Layout(hunter, (*cells, *faces), ACTION_NAMES, "A prey that was just captured is still where it was.")

    def positions(self, state: WolfpackState) -> tuple[Int[Array, "slots 2"], Int[Array, "objects 2"]]:
        return state.position, state.prey_position

    def hide(
        self, state: WolfpackState, agents: Bool[Array, "slots"], objects: Bool[Array, "objects"]
    ) -> WolfpackState:
        return eqx.tree_at(lambda s: (s.present, s.shown), state, (state.present & ~agents, state.shown & ~objects))

    def relocate(
        self, state: WolfpackState, agents: Int[Array, "slots 2"], objects: Int[Array, "objects 2"]
    ) -> WolfpackState:
        return eqx.tree_at(lambda s: (s.position, s.prey_position), state, (agents, objects))

    def locate(self, agents: Float[Array, "*batch feat"]) -> Float[Array, "*batch 2"]:
        return agents[..., :2]

    def rgb(self, state: WolfpackState) -> np.ndarray:
        return to_rgb(state, self.size)

    def markers(self, state: WolfpackState) -> list[Marker]:
        return markers(state, self.size)

    def text(self, state: WolfpackState) -> str:
        return to_text(state, self.size)

    def check(self, slots: int) -> None:
        if slots + self.prey > self.size**2:
            raise UserError(
                f"{slots} hunters and {self.prey} prey do not fit on a {self.size}x{self.size} grid. Lower the cap or "
                "raise the world's size."
            )
