"""Wolfpack from the other side: a world in which prey are trained.

The agents are the prey. Hunters are simulated inside by a pool of teammate types, so this is the only world that has
a pool. What an agent observes here is what ``LearnedPrey`` gives to its policies.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.core.parts import Parts
from openteam.core.types import NO_ACTION, Spec, View
from openteam.core.world import AbstractWorld, AbstractWorldState
from openteam.errors import UserError
from openteam.openness.closed import Closed
from openteam.openness.lifetimes import draw_between
from openteam.prey.sight import prey_legal, prey_rows
from openteam.teammates.pool import Pool
from openteam.views.full import FullView
from openteam.worlds.wolfpack.rules import transition
from openteam.worlds.wolfpack.start import respawn, start_state
from openteam.worlds.wolfpack.state import PREY_ACTION_NAMES, STAY, WolfpackState
from openteam.worlds.wolfpack.world import Wolfpack


class EvasionState(AbstractWorldState):
    """A state of Wolfpack, and the types and memories of its hunters."""

    present: Bool[Array, "slots"]  # of the prey
    hunt: WolfpackState
    type_ids: Int[Array, "hunters"]
    memory: PyTree[Any]
    previous_actions: Int[Array, "hunters"]
    starts: Bool[Array, ""]  # the hunt has just begun


class Evasion(AbstractWorld[EvasionState]):
    """Prey are chased by a team that is drawn for every episode; being captured costs 1. Never ends."""

    hunters: Pool
    """The types that hunt."""
    fewest: int = eqx.field(static=True, default=2)
    """Hunters in the smallest team."""
    most: int = eqx.field(static=True, default=4)
    """Hunters in the largest team; the number is uniform between the two. Prey that trained against few are caught by
    many, as the released ones are."""
    size: int = eqx.field(static=True, default=10)
    """Rows and columns of the square grid."""
    effort: float = eqx.field(static=True, default=0.0)
    """Cost of every action but staying. With it prey stay until running pays."""

    @property
    def actions(self) -> int:
        return len(PREY_ACTION_NAMES)

    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> EvasionState:
        k_team, k_types, k_hunt = jax.random.split(key, 3)
        team = jnp.arange(self.most) < draw_between(jax.random.uniform(k_team), self.fewest, self.most)
        return EvasionState(
            present=present,
            hunt=start_state(k_hunt, team, len(present), self.size),
            type_ids=self.hunters.draw(k_types, self.most),
            memory=self.hunters.start(self.most),
            previous_actions=jnp.full(self.most, NO_ACTION, jnp.int32),
            starts=jnp.ones((), bool),
        )

    def step(
        self, key: Key[Array, ""], state: EvasionState, actions: Int[Array, "slots"]
    ) -> tuple[EvasionState, Float[Array, "slots"], Bool[Array, ""]]:
        k_view, k_act, k_respawn = jax.random.split(key, 3)
        grid = Wolfpack(size=self.size, prey=len(actions))
        obs = jax.vmap(lambda viewer: FullView()(k_view, grid, state.hunt, viewer))(jnp.arange(self.most))
        starts = jnp.broadcast_to(state.starts, self.most)
        views = View(obs, starts, obs.visible & starts[:, None], state.previous_actions)
        chosen, memory = self.hunters.act(k_act, state.type_ids, state.memory, views)
        hunt = respawn(k_respawn, state.hunt, self.size)
        hunt = transition(hunt, chosen, jnp.where(state.present, actions, STAY), self.size)
        cost = jnp.where(hunt.captured, 1.0, 0.0) + jnp.where(actions != STAY, self.effort, 0.0)
        reward = jnp.where(state.present, -cost, 0.0)
        after = EvasionState(state.present, hunt, state.type_ids, memory, chosen, jnp.zeros((), bool))
        return after, reward, jnp.zeros((), bool)

    def dismiss(self, state: EvasionState, leaving: Bool[Array, "slots"]) -> EvasionState:
        """The prey of an empty slot stays where it is."""
        return eqx.tree_at(lambda s: s.present, state, state.present & ~leaving)

    def admit(self, key: Key[Array, ""], state: EvasionState, joining: Bool[Array, "slots"]) -> EvasionState:
        del key
        return eqx.tree_at(lambda s: s.present, state, state.present | joining)

    def legal(self, state: EvasionState) -> Bool[Array, "slots actions"]:
        return prey_legal(state.hunt, self.size)

    def features(self, state: EvasionState) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        """x = what each prey sees, as in ``prey_rows``; u is empty. Rows of absent slots are zero."""
        return jnp.where(state.present[:, None], prey_rows(state.hunt, self.size), 0.0), jnp.zeros(0)

    def check(self, slots: int) -> None:
        if not 1 <= self.fewest <= self.most:
            raise UserError(f"Prey are hunted by 1 <= fewest <= most hunters; got {self.fewest} and {self.most}.")
        hunt = Wolfpack(size=self.size, prey=slots)
        hunt.check(self.most)
        agents, shared = jax.eval_shape(
            lambda key: hunt.features(hunt.start(key, jnp.ones(self.most, bool))), jax.random.key(0)
        )
        for family in self.hunters.families:
            family.check(Spec(agents.shape[-1], shared.shape[-1], hunt.actions))
        Parts(hunt, Closed(self.most), self.hunters, FullView(), horizon=1).check()
