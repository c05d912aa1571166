"""The authors' guards and attackers of FortAttack: networks in which a team attends to its opponents and to itself."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.memory import Memory
from openteam.core.parts import Parts
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.types import Spec, View
from openteam.core.view import viewer_first
from openteam.errors import UserError
from openteam.models.layers import MLP
from openteam.models.policy import draw_action
from openteam.teammates.authors.layers import Numbers, mlp, stacked
from openteam.teammates.authors.published import GROUPS, SIDES
from openteam.teammates.authors.store import AbstractPublished, State, check_names
from openteam.teammates.pool import AbstractFamily
from openteam.worlds.fortattack.arena import Arena, heading
from openteam.worlds.fortattack.state import is_guard

TEAM = 5  # rows that a network reads of each side, whoever takes part
ROUNDS = 3
SIZES = (7, 0, 8)
ARENA = Arena(half_height=0.8)  # of the released code: where those who do not take part are thought to stand
Rows = Float[Array, "rows 6"]
"""Alive, x, y, angle, velocity: absolute and in radians, in the order of slots."""


class TeamNetwork(eqx.Module):
    """Logits of a whole team. Products of two weights without anything between them are one weight here.

    h = ReLU(encode own), g = ReLU(encode others); h <- [h, softmax(h A g') g V]; then three rounds of
    h <- ReLU(h K + softmax(h T h') h M + b), in which nobody attends to itself; then two layers.
    """

    own: MLP
    others: MLP
    attend: Float[Numbers, "half half"]  # A
    value: Float[Numbers, "half half"]  # V
    talk: Float[Numbers, "width width"]  # T
    keep: Float[Numbers, "width width"]  # K
    message: Float[Numbers, "width width"]  # M
    bias: Float[Numbers, "width"]
    head: MLP

    @classmethod
    def of(cls, state: State) -> TeamNetwork:
        """The network with these numbers. In the released code the first keys are called queries, and vice versa."""
        exact = {name: array.astype(np.float64) for name, array in state.items()}

        def weights(name: str) -> list[np.ndarray]:
            return [exact[f"{name}.W_{part}"][0] for part in ("query", "key", "val", "out")]

        def cast(array: np.ndarray) -> Any:
            return array.astype(state["update.0.bias"].dtype)

        query, key, value, out = weights("oppAttn")
        asks, answers, says, hears = weights("messages")
        keep, update = np.split(exact["update.0.weight"].T, 2)
        return cls(
            own=mlp(state, ("encoder.0",), 6),
            others=mlp(state, ("oppEncoder.0",), 6),
            attend=cast(key @ query.T / math.sqrt(len(key))),
            value=cast(value @ out),
            talk=cast(asks @ answers.T / math.sqrt(len(asks))),
            keep=cast(keep),
            message=cast(says @ hears @ update),
            bias=state["update.0.bias"],
            head=mlp(state, ("policy_head.0", "dist.linear"), 128),
        )

    def __call__(self, own: Rows, others: Rows) -> Float[Array, "rows actions"]:
        """A row of logits for each of its own rows; the order of rows means nothing."""
        h, g = jax.nn.relu(self.own(own)), jax.nn.relu(self.others(others))
        seen = jax.nn.softmax(h @ self.attend @ g.T) @ (g @ self.value)
        h = jnp.concatenate([h, seen], -1)
        itself = jnp.eye(len(own), dtype=bool)
        for _ in range(ROUNDS):
            attention = jax.nn.softmax(jnp.where(itself, -jnp.inf, h @ self.talk @ h.T))
            h = jax.nn.relu(h @ self.keep + attention @ (h @ self.message) + self.bias)
        return self.head(h)


Bodies = Memory[Float[Array, "2 places 6"], Float[Array, "slots 6"]]
"""Rows of those who do not take part, for both sides; and the row of every slot as it was last seen, or entered."""


def blank_bodies(slots: int) -> Bodies:
    """Nobody seen yet."""
    return Memory(jnp.zeros((2, max(TEAM - slots // 2, 0), 6)), jnp.zeros((slots, 6)))


def look(key: Key[Array, ""], memory: Bodies, view: View, opening: Bool[Array, ""], slot: Int[Array, ""]) -> Bodies:
    """All bodies as the released environment lists them, which does not take away who is out.

    Who was hit lies where, and as, it was before that step: as it was last seen. Who does not take part stands where
    it would have entered, which is drawn when an episode opens.
    """
    slots = len(memory.slots)
    places = max(slots, 2 * TEAM)
    entered = entering(key, places)
    sides = entered.reshape(2, places // 2, 6)
    seen, there = viewer_first(view.obs.agents, slot), viewer_first(view.obs.visible, slot)
    half = slots // 2
    old = jnp.where(opening, sides[:, :half].reshape(slots, 6), memory.slots)
    now = jnp.concatenate([jnp.ones((slots, 1)), seen[:, :5]], 1)
    absent = jnp.where(opening, sides[:, half:], memory.team)
    return Memory(absent, jnp.where(there[:, None], now, old * jnp.array([0.0, 1, 1, 1, 1, 1])))


def entering(key: Key[Array, ""], places: int) -> Rows:
    """Rows of agents that do not take part: where they would have entered, at rest."""
    position = ARENA.enter(jax.random.uniform(key, (2, places)))
    none, angle = jnp.zeros((places, 1)), heading(is_guard(places))[:, None]
    return jnp.concatenate([none, position, angle, none, none], 1)


def both_sides(bodies: Bodies) -> tuple[Rows, Rows]:
    """The rows of guards and of attackers; those of slots come first."""
    guards, attackers = jnp.concatenate([bodies.slots.reshape(2, -1, 6), bodies.team], 1)
    return guards, attackers


class FortAgent(AbstractPolicy):
    """One file's guard or attacker, as the slot has it; samples its actions."""

    guards: TeamNetwork  # stacked over files
    attackers: TeamNetwork
    index: Int[Array, ""]
    slot: Int[Array, ""]

    def start(self, slots: int) -> Bodies:
        return blank_bodies(slots)

    def decide(self, key: Key[Array, ""], memory: Bodies, view: View) -> Decision:
        k_look, k_act = jax.random.split(key)
        bodies = look(k_look, memory, view, view.starts, self.slot)
        logits = team_logits(self.guards, self.attackers, bodies)[self.index, self.slot]
        return Decision(draw_action(k_act, logits, jnp.ones(())), bodies, Explanation())


def team_logits(guards: TeamNetwork, attackers: TeamNetwork, bodies: Bodies) -> Float[Array, "files slots actions"]:
    """The logits of every slot, by all files."""
    defending, attacking = both_sides(bodies)
    half = len(bodies.slots) // 2
    on_guard = jax.vmap(lambda network: network(defending, attacking)[:half])(guards)
    on_attack = jax.vmap(lambda network: network(attacking, defending)[:half])(attackers)
    return jnp.concatenate([on_guard, on_attack], 1)


class PublishedFort(AbstractFamily, AbstractPublished):
    """The authors' seven types of FortAttack, each a network of guards and one of attackers.

    The two networks are computed once for a whole team. With a pool that draws for two teams and does not redraw, one
    file is drawn for all guards and one for all attackers, as in the released code.
    """

    group: ClassVar[str] = "fortattack"
    names: tuple[str, ...] = eqx.field(static=True, default=GROUPS["fortattack"].members)
    """Which of the seven."""

    def __check_init__(self) -> None:
        check_names(self, "mpnn")

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(f"The authors' checkpoint {name} of guards and attackers." for name in self.names)

    @property
    def networks(self) -> tuple[TeamNetwork, TeamNetwork]:
        agents = self.agents.values()
        guards, attackers = (stacked([TeamNetwork.of(agent[side]) for agent in agents]) for side in SIDES)
        return guards, attackers

    def check(self, spec: Spec) -> None:
        if (spec.agent_features, spec.shared_features, spec.actions) != SIZES:
            raise UserError(
                f"PublishedFort are types of FortAttack and cannot act in a world with {spec.agent_features} features "
                f"of an agent, {spec.shared_features} shared ones and {spec.actions} actions. Choose this world's own "
                "teammates."
            )

    def check_parts(self, parts: Parts) -> None:
        if parts.openness.slots > 2 * TEAM:
            raise UserError(f"PublishedFort knows teams of at most {TEAM}; got {parts.openness.slots} slots.")

    def member(self, index: Int[Array, ""]) -> FortAgent:
        return FortAgent(*self.networks, index, jnp.zeros((), jnp.int32))

    def act(
        self, keys: Key[Array, "slots"], index: Int[Array, "slots"], memory: Any, views: View
    ) -> tuple[Int[Array, "slots"], Any]:
        """All agents see the same, so what slot 0 sees is computed with, once. An episode opens for all at once."""
        slots = len(index)
        k_look, k_act = jax.random.split(keys[0])
        of_slot_0, seen = jax.tree.map(lambda leaf: leaf[0], (memory, views))
        bodies = look(k_look, of_slot_0, seen, views.starts.all(), jnp.zeros((), jnp.int32))
        logits = team_logits(*self.networks, bodies)
        mine = jnp.arange(self.size)[:, None] == index[None, :]
        chosen = jnp.where(mine[:, :, None], logits, 0).sum(0)
        actions = jax.vmap(lambda key, row: draw_action(key, row, jnp.ones(())))(jax.random.split(k_act, slots), chosen)
        return actions, jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (slots, *leaf.shape)), bodies)
