"""Deep Graph Networks (Jiang et al., 2020) for open teams: all slots are trained at once, then one agent plays alone.

Agents are the nodes of a complete graph. Each encodes what concerns it, two rounds of attention let it hear of the
others, and every node has action values of its own. A regulariser keeps whom an agent attends to from jumping between
one step and the next.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.algorithms.replay import Side, Transition, mean_over
from openteam.algorithms.replay_learning import AbstractReplayLearner
from openteam.algorithms.rules import QLearning, Schedule, choose, legal_values
from openteam.core.learner import Metrics, TrainState
from openteam.core.policy import AbstractMemoryless
from openteam.core.types import Observation, Spec
from openteam.errors import check_positive
from openteam.models.attention import RelationLayer
from openteam.models.layers import MLP, Linear


class DGNModel(eqx.Module):
    """Q_i = W [h_i, h'_i, h''_i]: an agent's own encoding and what it became after each round of attention."""

    encoder: MLP
    relations: tuple[RelationLayer, ...]
    values: Linear
    spec: Spec = eqx.field(static=True)

    def __init__(self, key: Key[Array, ""], spec: Spec, *, width: int, layers: int, heads: int, head_size: int):
        k_encoder, k_values, k_relations = jax.random.split(key, 3)
        self.encoder = MLP(k_encoder, (spec.agent_features, spec.shared_features), width, width)
        self.relations = tuple(
            RelationLayer(k, width, width, heads=heads, head_size=head_size)
            for k in jax.random.split(k_relations, layers)
        )
        self.values = Linear(k_values, (width,) * (layers + 1), spec.actions)
        self.spec = spec

    def __call__(
        self, own: Float[Array, "slots feat"], shared: Float[Array, "*slots shared"], exists: Bool[Array, "slots"]
    ) -> tuple[Float[Array, "slots actions"], Float[Array, "heads slots slots"]]:
        """Everybody's action values, and whom each attended to in the last round. Rows of the absent mean nothing."""
        nodes = [jax.nn.relu(self.encoder(own, shared))]
        attention = jnp.zeros((0, len(own), len(own)))
        for relation in self.relations:
            after, attention = relation(nodes[-1], exists)
            nodes.append(after)
        return self.values(*nodes), attention


class DGNPolicy(AbstractMemoryless):
    """One agent who draws the whole graph from what it sees and takes its own node's values; greedy without a rule."""

    model: DGNModel
    rule: QLearning | None
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del fresh
        legal = obs.legal if self.mask_illegal else None
        return choose(key, self.action_values(obs), legal, self.rule, self.progress), memory

    def action_values(self, obs: Observation) -> Float[Array, "actions"]:
        values, _ = self.model(obs.agents, obs.shared, obs.visible)
        return values[0]


class DGN(AbstractReplayLearner):
    """Deep Graph Networks with temporal relation regularisation, without memory."""

    update_every: int = eqx.field(static=True, default=4)
    batch: int = eqx.field(static=True, default=64)
    warm_up: int = eqx.field(static=True, default=2_000)
    learning_rate: float = eqx.field(static=True, default=1e-4)
    """Adam's step size."""
    target_rate: float = eqx.field(static=True, default=0.01)
    """Part of the way the target network moves towards the model at every update."""
    epsilon: Schedule = Schedule(1.0, 0.05)
    """Probability of a uniformly random action."""
    relation_weight: float = eqx.field(static=True, default=0.03)
    """lambda of the temporal relation regularisation."""
    width: int = eqx.field(static=True, default=128)
    """Width of the encoder's two layers and of an agent after a round of attention."""
    layers: int = eqx.field(static=True, default=2)
    """Rounds of attention."""
    heads: int = eqx.field(static=True, default=8)
    """Attention heads."""
    head_size: int = eqx.field(static=True, default=16)
    """Length of a head's queries, keys and values."""

    def __check_init__(self) -> None:
        check_positive(self, "width", "layers", "heads", "head_size")

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        model = DGNModel(
            key, spec, width=self.width, layers=self.layers, heads=self.heads, head_size=self.head_size
        )  # fmt: skip
        return TrainState(model, model, self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(optax.adam(self.learning_rate))

    def policy(self, model: DGNModel, progress: Float[Array, ""]) -> DGNPolicy:
        return DGNPolicy(model, QLearning(self.epsilon), progress, self.mask_illegal)

    def frozen(self, model: DGNModel) -> DGNPolicy:
        return DGNPolicy(model, None, jnp.ones(()), self.mask_illegal)

    def descend(self, state: TrainState, gradient: PyTree[Any]) -> tuple[DGNModel, PyTree[Any], Metrics]:
        step, opt_state = self.optimiser.update(gradient, state.opt_state, state.model)
        return eqx.apply_updates(state.model, step), opt_state, {"gradient_norm": optax.tree.norm(gradient)}

    def loss(
        self, model: DGNModel, target: DGNModel, batch: Transition, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """Squared error of the values of actions taken, and how far attention moved, means over those it concerns."""
        del key
        values, attention = look(model, batch.before)
        next_values, next_attention = look(target, batch.after)
        if self.mask_illegal:
            next_values = legal_values(next_values, batch.after.legal)
        # Of those who are absent afterwards nothing is expected, whatever their row says.
        y = batch.reward + self.discount * batch.discount * jnp.where(batch.stays, next_values.max(-1), 0)
        predicted = jnp.take_along_axis(values, batch.action[..., None], -1)[..., 0]
        value_loss = mean_over((predicted - jax.lax.stop_gradient(y)) ** 2, batch.before.exists)
        moved = jax.vmap(relation_change)(attention, next_attention, batch.stays)
        relation_loss = mean_over(moved, batch.stays)
        metrics = {
            "value_loss": value_loss,
            "relation_loss": relation_loss,
            "action_value": mean_over(predicted, batch.before.exists),
        }
        return value_loss + self.relation_weight * relation_loss, metrics


def look(
    model: DGNModel, team: Side
) -> tuple[Float[Array, "batch slots actions"], Float[Array, "batch heads slots slots"]]:
    """The graphs of a batch of teams, each drawn once for all its agents."""
    return jax.vmap(model)(team.own, team.shared, team.exists)


def relation_change(
    now: Float[Array, "heads slots slots"], after: Float[Array, "heads slots slots"], stays: Bool[Array, "slots"]
) -> Float[Array, "slots"]:
    """KL(after || now) of each agent's attention to those who stay, mean over heads; ``after`` is a constant.

    The paper holds the graph fixed over the two steps. In an open team that is: only those who are there in both count,
    and their shares are taken anew. Rows of the others are zero.
    """

    def shares(attention: Float[Array, "heads slots slots"]) -> Float[Array, "heads slots slots"]:
        kept = jnp.where(stays, attention, 0)
        return jnp.maximum(kept / jnp.maximum(kept.sum(-1, keepdims=True), 1e-8), 1e-8)

    p, q = jax.lax.stop_gradient(shares(after)), shares(now)
    divergence = (p * (jnp.log(p) - jnp.log(q))).sum(-1).mean(0)
    return jnp.where(stays, divergence, 0)
