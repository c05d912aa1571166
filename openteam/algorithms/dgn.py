"""Deep Graph Networks (Jiang et al., 2020) for open teams: all slots are trained at once, then one agent plays alone.

Agents are the nodes of a complete graph. Each node encodes its agent, exchanges information in two rounds of attention,
and has action values of its own. A regulariser keeps an agent's attention from jumping between two steps.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Key

from openteam.algorithms.control import QLearning, Schedule, choice_probabilities, choose, legal_values
from openteam.algorithms.masked import masked_mean
from openteam.algorithms.replay import AgentState, ReplayBuffer, Transition
from openteam.core.learner import AbstractJointLearner, Metrics, TrainState
from openteam.core.memory import Memory
from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.sides import Sides
from openteam.core.types import Chunk, Observation, Spec, View
from openteam.errors import check_in, check_not_negative, check_positive
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
    """One agent who computes the whole graph from what it sees and acts on its own node's values."""

    model: DGNModel
    control: QLearning | None  # None is greedy
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)
    sides: Sides = Sides()

    def decide(self, key: Key[Array, ""], memory: Memory[tuple[()], tuple[()]], view: View) -> Decision:
        values, legal = self.action_values(view.obs), view.obs.legal if self.mask_illegal else None
        given = values, legal, self.control, self.progress
        explanation = Explanation(action_values=values, probabilities=choice_probabilities(*given))
        return Decision(choose(key, *given), memory, explanation)

    def action_values(self, obs: Observation) -> Float[Array, "actions"]:
        seen = obs.visible & ~self.sides.hidden(len(obs.visible))[0]
        values, _ = self.model(obs.agents, obs.shared, seen)
        return values[0]


class DGN(AbstractJointLearner):
    """Deep Graph Networks with temporal relation regularisation, without memory."""

    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=4)
    """Steps of each environment between two updates."""
    replay: ReplayBuffer = ReplayBuffer(size=50_000, batch=64, warm_up=2_000)
    """What it learns from."""
    learning_rate: float = eqx.field(static=True, default=1e-4)
    """Adam's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    target_rate: float = eqx.field(static=True, default=0.01)
    """Fraction of the way that the target network moves towards the model at every update."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect."""
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
    sides: Sides = Sides()
    """Whom joint training acts for, and who sees whom."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "learning_rate", "target_rate")
        check_positive(self, "width", "layers", "heads", "head_size")
        check_in(self, 0.0, 1.0, "discount", "target_rate")
        check_not_negative(self, "relation_weight")
        self.replay.steps(self.envs, self.update_every)

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        model = DGNModel(key, spec, width=self.width, layers=self.layers, heads=self.heads, head_size=self.head_size)
        return TrainState(model, model, self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(optax.adam(self.learning_rate))

    def policy(self, model: DGNModel, progress: Float[Array, ""]) -> DGNPolicy:
        return DGNPolicy(model, QLearning(self.epsilon), progress, self.mask_illegal, self.sides)

    def frozen(self, model: DGNModel) -> DGNPolicy:
        return DGNPolicy(model, None, jnp.ones(()), self.mask_illegal, self.sides)

    def context(self, state: TrainState, slots: int) -> Transition:
        del slots
        return self.replay.start(state.model.spec, self.envs, self.update_every)

    def update(
        self, key: Key[Array, ""], state: TrainState, context: Transition, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, Transition, Metrics]:
        del progress
        kept = self.replay.push(context, chunk, state.updates)
        steps = (state.updates + 1) * self.update_every
        batch = self.replay.sample(key, kept, steps, chunk.truth.exists.shape[-1])
        (_, metrics), gradient = jax.value_and_grad(self.loss, has_aux=True)(state.model, state.target, batch)
        learns = steps * self.envs >= self.replay.warm_up
        gradient = jax.tree.map(lambda leaf: learns * leaf, gradient)
        step, opt_state = self.optimiser.update(gradient, state.opt_state, state.model)
        model: DGNModel = eqx.apply_updates(state.model, step)
        target = jax.tree.map(lambda new, old: old + self.target_rate * (new - old), model, state.target)
        metrics |= {"gradient_norm": optax.tree.norm(gradient)}
        return TrainState(model, target, opt_state, state.updates + 1), kept, metrics

    def loss(self, model: DGNModel, target: DGNModel, batch: Transition) -> tuple[Float[Array, ""], Metrics]:
        """(y - Q(a))^2 + lambda KL(attention' || attention), means over those it concerns, y = r + gamma max Q'.

        attention' is the target network's at the next step.
        """
        values, attention = team_values(model, batch.before, self.sides)
        next_values, next_attention = team_values(target, batch.after, self.sides)
        trained = self.sides.trained(batch.action.shape[-1])
        here, stays = batch.before.exists & trained, batch.stays & trained
        if self.mask_illegal:
            next_values = legal_values(next_values, batch.after.legal)
        # Those who are gone afterwards expect nothing, whatever their row says.
        y = batch.reward + self.discount * batch.discount * jnp.where(batch.stays, next_values.max(-1), 0)
        predicted = jnp.take_along_axis(values, batch.action[..., None], -1)[..., 0]
        value_loss = masked_mean((predicted - jax.lax.stop_gradient(y)) ** 2, here)
        change = jax.vmap(relation_change)(attention, next_attention, batch.stays)
        relation_loss = masked_mean(change, stays)
        metrics = {
            "value_loss": value_loss,
            "relation_loss": relation_loss,
            "action_value": masked_mean(predicted, here),
        }
        return value_loss + self.relation_weight * relation_loss, metrics


def team_values(
    model: DGNModel, team: AgentState, sides: Sides = Sides()
) -> tuple[Float[Array, "batch slots actions"], Float[Array, "batch heads slots slots"]]:
    """Action values and attention in a batch of teams.

    Where everybody sees everybody there is one graph for all agents of a team, else one for each, of whom it sees.
    """
    if sides.see_own:
        return jax.vmap(model)(team.own, team.shared, team.exists)
    slots = team.exists.shape[-1]
    hidden, everybody = sides.hidden(slots), jnp.arange(slots)

    def graph_of_each(own: Array, shared: Array, exists: Array) -> tuple[Array, Array]:
        values, attention = jax.vmap(lambda unseen: model(own, shared, exists & ~unseen))(jnp.asarray(hidden))
        return values[everybody, everybody], attention[everybody, :, everybody].swapaxes(0, 1)

    return jax.vmap(graph_of_each)(team.own, team.shared, team.exists)


def relation_change(
    now: Float[Array, "heads slots slots"], after: Float[Array, "heads slots slots"], stays: Bool[Array, "slots"]
) -> Float[Array, "slots"]:
    """KL(after || now) of each agent's attention to those who stay, mean over heads; ``after`` is a constant.

    The paper holds the graph fixed over the two steps. In an open team that means: only those who are there in both
    count, and attention to them is normalised again. Rows of the others are zero.
    """

    def among_those_who_stay(attention: Float[Array, "heads slots slots"]) -> Float[Array, "heads slots slots"]:
        kept = jnp.where(stays, attention, 0)
        return jnp.maximum(kept / jnp.maximum(kept.sum(-1, keepdims=True), 1e-8), 1e-8)

    p, q = jax.lax.stop_gradient(among_those_who_stay(after)), among_those_who_stay(now)
    divergence = (p * (jnp.log(p) - jnp.log(q))).sum(-1).mean(0)
    return jnp.where(stays, divergence, 0)
