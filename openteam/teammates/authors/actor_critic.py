"""The actor-critic types of foraging and navigation: policies without memory on a flat list of objects and agents."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.parts import Parts
from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.types import Spec, View
from openteam.core.view import viewer_first
from openteam.errors import UserError
from openteam.models.layers import MLP
from openteam.models.policy import draw_action
from openteam.teammates.authors.layers import mlp, stacked
from openteam.teammates.authors.published import GROUPS
from openteam.teammates.authors.slots import act_in_slots
from openteam.teammates.authors.store import AbstractPublished, check_names
from openteam.teammates.pool import AbstractFamily

TEAM = 5  # agents that a network reads
NONE = 0  # what an action without effect becomes


class ActorCritic(AbstractMemoryless):
    """One of some stacked networks, in a slot of which the number counts: others are listed by theirs."""

    networks: MLP
    index: Int[Array, ""]
    slot: Int[Array, ""]
    objects: int = eqx.field(static=True)
    """Shared features that are read."""

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        obs = view.obs
        agents, there = viewer_first(obs.agents, self.slot), viewer_first(obs.visible, self.slot)
        x = jnp.concatenate([obs.shared[: self.objects], list_agents(agents, there, self.slot).ravel()])
        logits = jax.vmap(lambda network: network(x))(self.networks)[self.index]
        action = draw_action(key, logits, jnp.ones(()))
        known = jnp.pad(obs.legal, (0, len(logits) - len(obs.legal)))  # in navigation there is nothing to load
        return Decision(jnp.where(known[action], action, NONE), memory, Explanation())


def list_agents(
    agents: Float[Array, "slots feat"], there: Bool[Array, "slots"], own: Int[Array, ""]
) -> Float[Array, "team feat"]:
    """Its own row, then those of the others who are there, by slot, then placeholders: row and column -1, level 0."""
    slots = jnp.arange(len(agents))
    others = there & (slots != own)
    rank = jnp.where(slots == own, 0, jnp.where(others, jnp.cumsum(others), TEAM))
    chosen = rank[None, :] == jnp.arange(TEAM)[:, None]
    nobody = jnp.array([-1.0, -1.0, 0.0])[: agents.shape[1]]
    rows = jnp.where(chosen[:, :, None], agents[None], 0).sum(1)
    return jnp.where(chosen.any(1)[:, None], rows, nobody)


class AbstractActorCritics(AbstractFamily, AbstractPublished):
    """What the families of both worlds share."""

    network: ClassVar[str]
    objects: ClassVar[int]
    features: ClassVar[int]
    actions: ClassVar[int]

    def __check_init__(self) -> None:
        check_names(self, self.network)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(f"The authors' actor-critic {name.removeprefix('a2c-')}." for name in self.names)

    @property
    def networks(self) -> MLP:
        layers, inputs = ("layers.0", "layers.2", "layers.4"), self.objects + TEAM * self.features
        return stacked([mlp(agent["network"], layers, inputs) for agent in self.agents.values()])

    def check(self, spec: Spec) -> None:
        if (spec.agent_features, spec.actions) != (self.features, self.actions) or spec.shared_features < self.objects:
            raise UserError(
                f"{type(self).__name__} are types of '{self.group}' and cannot act in a world with "
                f"{spec.agent_features} features of an agent, {spec.shared_features} shared ones and {spec.actions} "
                "actions. Choose this world's own teammates."
            )

    def check_parts(self, parts: Parts) -> None:
        if parts.openness.slots > TEAM:
            raise UserError(
                f"{type(self).__name__} read a team of at most {TEAM}; got {parts.openness.slots} slots. Lower the cap."
            )

    def member(self, index: Int[Array, ""]) -> ActorCritic:
        return self.member_in(index, jnp.zeros((), jnp.int32))

    def member_in(self, index: Int[Array, ""], slot: Int[Array, ""]) -> ActorCritic:
        """The member with a number, for a slot."""
        return ActorCritic(self.networks, index, slot, self.objects)

    def act(
        self, keys: Key[Array, "slots"], index: Int[Array, "slots"], memory: Any, views: View
    ) -> tuple[Int[Array, "slots"], Any]:
        return act_in_slots(self.member_in, keys, index, memory, views)


class PublishedForagers(AbstractActorCritics):
    """The authors' learned types of Level-Based Foraging. They drew only the first."""

    group: ClassVar[str] = "lbf"
    network: ClassVar[str] = "foraging"
    objects: ClassVar[int] = 9
    features: ClassVar[int] = 3
    actions: ClassVar[int] = 6
    names: tuple[str, ...] = eqx.field(static=True, default=GROUPS["lbf"].members[:1])
    """Which of a2c-0 to a2c-9."""


class PublishedNavigators(AbstractActorCritics):
    """The authors' learned types of Cooperative Navigation. They drew two of ten."""

    group: ClassVar[str] = "navigation"
    network: ClassVar[str] = "navigation"
    objects: ClassVar[int] = 4
    features: ClassVar[int] = 2
    actions: ClassVar[int] = 5
    names: tuple[str, ...] = eqx.field(static=True, default=("a2c-0", "a2c-5"))
    """Which of a2c-0 to a2c-9."""
