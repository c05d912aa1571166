"""The authors' two learned hunters of Wolfpack: a distilled path searcher, and a graph network with memory."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.memory import Memory
from openteam.core.policy import AbstractMemoryless, AbstractPolicy, Decision, Explanation
from openteam.core.types import Spec, View
from openteam.core.view import viewer_first
from openteam.errors import UserError
from openteam.models.layers import MLP
from openteam.models.policy import draw_action
from openteam.teammates.authors.graph import GraphBlock
from openteam.teammates.authors.graph_dqn import GraphDQN, GraphMemory, carry
from openteam.teammates.authors.layers import mlp
from openteam.teammates.authors.slots import act_in_slots
from openteam.teammates.authors.store import AbstractPublished, State, check_names
from openteam.teammates.pool import AbstractFamily

SIZES = (2, 12, 5)  # features of a hunter, of two prey, and actions
FACING = (1.0, 0.0, 0.0, 0.0)  # hunters never turn


class Distilled(AbstractMemoryless):
    """Samples what the network expects of a path searcher."""

    first: GraphBlock
    second: GraphBlock
    head: MLP

    @classmethod
    def of(cls, state: State) -> Distilled:
        """The network with these numbers."""
        first = GraphBlock.of(state, "GNBlock", None, 6, 12)
        return cls(first, GraphBlock.of(state, "GNBlock2", 50, 50, 50), mlp(state, ("head", "head2"), 30))

    def decide(self, key: Key[Array, ""], memory: Any, view: View) -> Decision:
        logits = self.logits(view.obs.agents, view.obs.shared, view.obs.visible)[0]
        return Decision(draw_action(key, logits, jnp.ones(())), memory, Explanation())

    def logits(
        self, cells: Float[Array, "n 2"], shared: Float[Array, "shared"], there: Bool[Array, "n"]
    ) -> Float[Array, "n actions"]:
        """What every hunter would do if it were asked; the order of hunters means nothing."""
        facing = jnp.broadcast_to(jnp.array(FACING, cells.dtype), (len(cells), len(FACING)))
        edges, nodes, shared = self.first(jnp.concatenate([cells, facing], 1), shared, there)
        return self.head(self.second(nodes, shared, there, edges)[1])


class GraphAgent(AbstractPolicy):
    """Takes the action with the highest value at its own node.

    Agents stand in a list: by slot at the start, the learner first; later ones at its end. The team's part of the
    memory is in the order of the list, a slot's part is its occupant's place there, -1 for nobody.
    """

    network: GraphDQN
    slot: Int[Array, ""]

    def start(self, slots: int) -> Memory[GraphMemory, Int[Array, "slots"]]:
        return Memory(self.network.start(slots), jnp.full(slots, -1))

    def decide(self, key: Key[Array, ""], memory: Memory[GraphMemory, Int[Array, "slots"]], view: View) -> Decision:
        del key
        cells, there, new = (viewer_first(rows, self.slot) for rows in (view.obs.agents, view.obs.visible, view.new))
        stays = (memory.slots >= 0) & there & ~new
        places = jnp.arange(memory.team.capacity)
        kept = ((memory.slots[None, :] == places[:, None]) & stays[None, :]).any(1)
        arrives = there & ~stays
        place = jnp.where(stays, (jnp.cumsum(kept) - 1)[memory.slots], kept.sum() + jnp.cumsum(arrives) - 1)
        place = jnp.where(there, place, -1)
        blank = self.network.start(memory.team.capacity)
        carried = carry(memory.team, kept, there.sum())
        before = jax.tree.map(lambda zero, old: jnp.where(view.starts, zero, old), blank, carried)
        listed = place[None, :] == places[:, None]
        values, after = self.network.step(
            before, jnp.where(listed[:, :, None], cells[None], 0).sum(1), view.obs.shared, listed.any(1)
        )
        own = values[place[self.slot]]
        return Decision(jnp.argmax(own).astype(jnp.int32), Memory(after, place), Explanation(action_values=own))


class AbstractPublishedHunter(AbstractFamily, AbstractPublished):
    """A family of one of the two hunters."""

    group: ClassVar[str] = "wolfpack"
    network: ClassVar[str]

    def __check_init__(self) -> None:
        check_names(self, self.network)

    def check(self, spec: Spec) -> None:
        if (spec.agent_features, spec.shared_features, spec.actions) != SIZES:
            raise UserError(
                f"{type(self).__name__} hunts two prey in Wolfpack and cannot act in a world with "
                f"{spec.agent_features} features of an agent, {spec.shared_features} shared ones and {spec.actions} "
                "actions. Choose this world's own teammates."
            )

    @property
    def state(self) -> State:
        (agent,) = self.agents.values()
        return agent["network"]


class PublishedDistilled(AbstractPublishedHunter):
    """The authors' distilled path searcher."""

    network: ClassVar[str] = "distilled"
    names: tuple[str, ...] = eqx.field(static=True, default=("distilled",))
    sentences: ClassVar[tuple[str, ...]] = ("The authors' network that learned to do what a path searcher does.",)

    def member(self, index: Int[Array, ""]) -> Distilled:
        del index
        return Distilled.of(self.state)


class PublishedGraphDQN(AbstractPublishedHunter):
    """The authors' graph network, which was trained by Q-learning and has a memory."""

    network: ClassVar[str] = "graph-dqn"
    names: tuple[str, ...] = eqx.field(static=True, default=("graph-dqn",))
    sentences: ClassVar[tuple[str, ...]] = ("The authors' graph network with memory, trained by Q-learning.",)

    def member(self, index: Int[Array, ""]) -> GraphAgent:
        return self.member_in(index, jnp.zeros((), jnp.int32))

    def member_in(self, index: Int[Array, ""], slot: Int[Array, ""]) -> GraphAgent:
        """The member for a slot."""
        del index
        return GraphAgent(GraphDQN.of(self.state), slot)

    def act(
        self, keys: Key[Array, "slots"], index: Int[Array, "slots"], memory: Any, views: View
    ) -> tuple[Int[Array, "slots"], Any]:
        # In its own view everybody is new to a newcomer. The list knows who has really arrived.
        slots = jnp.arange(len(index))
        arrived = jax.vmap(viewer_first, (None, 0))(views.starts, slots) & views.obs.visible
        return act_in_slots(self.member_in, keys, index, memory, eqx.tree_at(lambda views: views.new, views, arrived))
