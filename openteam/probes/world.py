"""The world of all probes: two actions, a lamp, a countdown, and everybody's last action."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.layout import Entry, Layout
from openteam.core.world import AbstractWorld
from openteam.errors import UserError
from openteam.probes.payoffs import AbstractPayoff
from openteam.probes.state import ProbeState


class Probe(AbstractWorld[ProbeState]):
    """The learner and a teammate, slots 0 and 1, choose 0 or 1 for a few steps; a payoff gives the rewards.

    Its fields may be arrays, so that one compiled program can train on many probes.
    """

    payoff: AbstractPayoff
    length: int | Int[Array, ""] = 1
    """Steps until the task is over."""
    show_actions_once: bool | Bool[Array, ""] = False
    """Show actions only after the first step, so that they must be remembered, instead of after every step."""

    @property
    def actions(self) -> int:
        return 2

    def start(self, key: Key[Array, ""], present: Bool[Array, "slots"]) -> ProbeState:
        return ProbeState(
            present=present,
            lamp=jax.random.uniform(key) < 0.5,
            last=jnp.full(len(present), -1, jnp.int32),
            left=jnp.asarray(self.length, jnp.int32),
        )

    def step(
        self, key: Key[Array, ""], state: ProbeState, actions: Int[Array, "slots"]
    ) -> tuple[ProbeState, Float[Array, "slots"], Bool[Array, ""]]:
        del key  # nothing is random here
        rewards = self.payoff.reward(state, actions) * state.present
        last = jnp.where(state.present, actions, -1).astype(jnp.int32)
        after = ProbeState(state.present, state.lamp, last, state.left - 1)
        return after, rewards, after.left <= 0

    def dismiss(self, state: ProbeState, leaving: Bool[Array, "slots"]) -> ProbeState:
        return ProbeState(state.present & ~leaving, state.lamp, jnp.where(leaving, -1, state.last), state.left)

    def admit(self, key: Key[Array, ""], state: ProbeState, joining: Bool[Array, "slots"]) -> ProbeState:
        del key
        return ProbeState(state.present | joining, state.lamp, jnp.where(joining, -1, state.last), state.left)

    def legal(self, state: ProbeState) -> Bool[Array, "slots actions"]:
        return jnp.ones((len(state.present), self.actions), bool)

    def features(self, state: ProbeState) -> tuple[Float[Array, "slots feat"], Float[Array, "shared"]]:
        """x = the last action as a one-hot pair, zeros if there is none to see, and the slot; u = lamp, steps left.

        The slot's number lets a model that is symmetric in agents tell which action is rewarded.
        """
        shown = jnp.logical_not(self.show_actions_once) | (state.left == self.length - 1)
        last = jax.nn.one_hot(jnp.where(shown, state.last, -1), self.actions)
        slot = jnp.where(state.present, jnp.arange(len(last)), 0)
        agents = jnp.concatenate([last, slot[:, None]], 1)
        return agents, jnp.stack([state.lamp, state.left]).astype(jnp.float32)

    def layout(self, slots: int) -> Layout:
        actions = tuple(f"action {number}" for number in range(self.actions))
        last = tuple(Entry(f"its last was {action}", 0, 1, 0) for action in actions)
        shared = Entry("the lamp is on", 0, 1, 0), Entry("steps left", 0, int(self.length), 0, "steps")
        return Layout((*last, Entry("slot", 0, slots - 1, 0)), shared, actions, "")

    def check(self, slots: int) -> None:
        if slots != 2 or self.length < 1:
            raise UserError(
                f"A probe is for 2 slots, the learner and a teammate, and lasts at least 1 step; got {slots} slots and "
                f"length {self.length}."
            )
