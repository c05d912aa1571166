"""Graph-based Policy Learning (paper, algorithm "GPL Training"), and all that is GPL with another head.

Types are inferred from what each agent did, a head turns them into values, and an agent model predicts what teammates
will do. GPL-Q and GPL-SPI differ in their control; QL, GNN and CIAO have another head (paper, table "Comparison between
algorithms").
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.control import AbstractControl, choice_probabilities, choose, legal_values
from openteam.algorithms.td import AbstractTDLearner
from openteam.core.learner import Metrics, TrainState
from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.types import Chunk, Spec, View, over_chunk
from openteam.errors import check_positive
from openteam.models.agent import AgentModel, AgentModelSizes, action_log_likelihood
from openteam.models.coordination_graph import CoordinationGraph
from openteam.models.lstm import LSTMState, without_gates
from openteam.models.types import TypeInference
from openteam.models.value import AbstractHead, AbstractValueNetwork, Team, ValueModel


class SlotMemory(eqx.Module):
    """What is remembered of each slot's agent."""

    value: LSTMState
    agent: LSTMState | None  # None without an agent model, or if it shares the value model's types
    entry: Int[Array, "*batch slots"] | tuple[()]  # its fixed slot; () if the head needs none
    seen: Bool[Array, "*batch slots"] | tuple[()] = ()  # whether it was in sight; () if that makes no difference


class Prediction(eqx.Module):
    """What the model says about a step besides the value model's types."""

    logits: Float[Array, "*batch slots actions"] | None  # of everybody's next action; None without an agent model
    entry: Int[Array, "*batch slots"] | tuple[()]


class Model(eqx.Module):
    """Everything that is learned."""

    value: ValueModel
    agent: AgentModel | None
    spec: Spec = eqx.field(static=True)
    forgets_unseen: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> Memory:
        order, entry = self.value.head.slots.start(slots)
        agent = None if self.agent is None else self.agent.start(slots)
        seen = jnp.zeros(slots, bool) if self.forgets_unseen else ()
        return Memory(order, SlotMemory(self.value.types.start(slots), agent, entry, seen))

    def infer(self, memory: Memory, view: View) -> tuple[Float[Array, "slots type"], Prediction, SlotMemory]:
        """The value model's types and all else that one more view says, and what is remembered of it."""
        before = memory.slots
        fresh = forgotten(before.seen, view)
        types, value = self.value.types.step(before.value, view.obs, fresh)
        logits, agent = None, None
        if self.agent is not None:
            logits, agent = self.agent.step(before.agent, types, view.obs, fresh)
        entry = self.value.head.slots.step(memory.team, before.entry, view.fresh)
        seen = view.obs.visible if self.forgets_unseen else ()
        return types, Prediction(logits, entry), SlotMemory(value, agent, entry, seen)


def forgotten(seen: Bool[Array, "*batch slots"] | tuple[()], view: View) -> Bool[Array, "*batch slots"]:
    """Slots of which nothing is remembered: fresh ones and, if it is known who was in sight last, all others.

    Where everything is visible both are the same: who was not in sight was not there, and is new.
    """
    return view.fresh if isinstance(seen, tuple) else view.fresh | ~seen


def team_of(
    types: Float[Array, "*batch slots type"], prediction: Prediction, visible: Bool[Array, "*batch slots"]
) -> Team:
    """What a head reads. The value loss must not reach the agent model."""
    logits = prediction.logits
    probabilities = None if logits is None else jax.nn.softmax(jax.lax.stop_gradient(logits))
    return Team(types, visible, probabilities, prediction.entry)


class GPLPolicy(AbstractPolicy):
    """Acts on Qbar(H, .), the paper's QV, by its control; greedily without one."""

    model: Model
    control: AbstractControl | None
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> Memory:
        memory = self.model.start(slots)
        return without_gates(memory) if self.control is None else memory

    def decide(self, key: Key[Array, ""], memory: Memory, view: View) -> Decision:
        head = self.model.value.head
        types, prediction, slots = self.model.infer(memory, view)
        team = team_of(types, prediction, view.obs.visible)
        values = head(team)
        action_values = values.action_values()
        behaviour = action_values, view.obs.legal if self.mask_illegal else None, self.control, self.progress
        explanation = Explanation(
            action_values=action_values,
            singular=None if values.utilities is None else values.utilities.singular,
            pairwise=None if values.utilities is None else values.utilities.pairs(),
            predicted=team.probabilities,
            types=types,
            probabilities=choice_probabilities(*behaviour),
        )
        order = head.slots.draw(jax.random.fold_in(key, 1))
        return Decision(choose(key, *behaviour), Memory(order, slots), explanation)


class GPL(AbstractTDLearner):
    """The learner. Defaults are GPL-Q with the sizes and settings behind the paper's foraging results."""

    head: AbstractHead = CoordinationGraph()
    """How types become values: CoordinationGraph (GPL, CIAO), FixedSlotHead (QL) or AttentionHead (GNN)."""
    agent_model: AgentModelSizes | None = AgentModelSizes()
    """The model of what teammates do next; None for a head that needs none: QL and GNN instead of QL-AM and GNN-AM."""
    shared_types: bool = eqx.field(static=True, default=False)
    """One type inference network for values and agent model, as in the released code under partial observability,
    instead of the paper's two: what predicting teammates teaches then serves values too, and it is faster."""
    encoder_width: int = eqx.field(static=True, default=100)
    """Width of the two layers before the LSTM."""
    hidden: int = eqx.field(static=True, default=100)
    """Width of the LSTM."""
    type_size: int = eqx.field(static=True, default=70)
    """Length of a type vector."""
    forgets_unseen: bool = eqx.field(static=True, default=False)
    """Forget a teammate who is out of sight, as if it had left: to the paper, what partial observability does to a team
    is "another open process", and the released network clears its memory. In full view it makes no difference."""

    def __check_init__(self) -> None:
        check_positive(self, "encoder_width", "hidden", "type_size")

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_value_types, k_value, k_agent_types, k_actions = jax.random.split(key, 4)
        network = self.head.build(k_value, self.type_size, spec, predictions=self.agent_model is not None)
        agent = None
        if self.agent_model is not None:
            agent = AgentModel(
                None if self.shared_types else self.type_inference(k_agent_types, spec),
                self.agent_model.build(k_actions, self.type_size, spec.actions, self.head.graph),
            )
        value = ValueModel(self.type_inference(k_value_types, spec), network)
        return self.optimiser.start(Model(value, agent, spec, self.forgets_unseen))

    def type_inference(self, key: Key[Array, ""], spec: Spec) -> TypeInference:
        return TypeInference(key, spec, encoder_width=self.encoder_width, hidden=self.hidden, type_size=self.type_size)

    def policy(self, model: Model, progress: Float[Array, ""]) -> GPLPolicy:
        return GPLPolicy(model, self.control, progress, self.mask_illegal)

    def frozen(self, model: Model) -> GPLPolicy:
        return GPLPolicy(model, None, jnp.ones(()), self.mask_illegal)

    def context(self, state: TrainState, slots: int) -> LSTMState:
        """The target network's memory."""
        return state.target.types.start(slots)

    def update(
        self, key: Key[Array, ""], state: TrainState, context: LSTMState, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, LSTMState, Metrics]:
        del key  # nothing in it is random
        views = chunk.sequence.view
        target_states = state.target.types.unroll(context, views.obs, forgotten(seen_before(chunk, views), views))

        def loss(model: Model) -> tuple[Float[Array, ""], Metrics]:
            return self.loss(model, state.target, target_states, chunk, progress)

        state, metrics = self.optimiser.step(state, loss)
        # The last view opens the next chunk too, so the target remembers only what came before it.
        return state, jax.tree.map(lambda leaf: leaf[-2], target_states), metrics

    def loss(
        self, model: Model, target: ValueModel, target_states: LSTMState, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """One pass of the paper's algorithm "GPL Training" over all steps of a chunk, means over them."""
        visible, after, actions = chunk.timesteps.view.obs.visible, chunk.next_timesteps, chunk.truth.actions
        types, prediction = recorded_inference(model, chunk)
        # QJOINT: the predicted value of what everybody did.
        predicted, penalty = over_chunk(value_of, model.value.head)(team_of(types, prediction, visible), actions)
        # QV: the target network's action values of the successor, and the target y.
        next_values = successor_values(model, target, target_states, chunk, prediction)
        if self.mask_illegal:
            next_values = legal_values(next_values, after.final_view.obs.legal)
        y = self.control.target(after.reward, self.discount * after.discount, next_values, progress)
        value_loss = squared_td_error(predicted, y)
        loss, metrics = value_loss, {"value_loss": value_loss} | model.value.head.metrics(predicted, y)
        # PTEAM: the likelihood of what teammates did.
        if prediction.logits is not None:
            agent_loss = agent_nll(prediction.logits, actions, visible)
            loss, metrics = loss + self.agent_model_weight * agent_loss, metrics | {"agent_model_loss": agent_loss}
        if penalty is not None:
            loss, metrics = loss + penalty.mean(), metrics | {"penalty": penalty.mean()}
        return loss, metrics


def squared_td_error(predicted: Float[Array, "time envs"], target: Float[Array, "time envs"]) -> Float[Array, ""]:
    """L = mean of (Q(H, a) - y)^2, without a gradient through y (paper, section "Learning Objective")."""
    return jnp.mean((predicted - jax.lax.stop_gradient(target)) ** 2)


def agent_nll(
    logits: Float[Array, "time envs slots actions"],
    actions: Int[Array, "time envs slots"],
    visible: Bool[Array, "time envs slots"],
) -> Float[Array, ""]:
    """L = -mean of log q(a_j | s) over the actions of teammates j in sight (paper, section "Learning Objective")."""
    log_likelihood = over_chunk(action_log_likelihood)(logits, actions, visible)
    return -log_likelihood.sum() / jnp.maximum(visible[..., 1:].sum(), 1)


def value_of(
    head: AbstractValueNetwork, team: Team, actions: Int[Array, "slots"]
) -> tuple[Float[Array, ""], Float[Array, ""] | None]:
    """The value of what was done, and the head's penalty."""
    values = head(team)
    return values.of(actions), values.penalty(actions)


def seen_before(chunk: Chunk, views: View) -> Bool[Array, "time envs slots"] | tuple[()]:
    """Who was in sight before each of these views, the first of which opens the chunk."""
    first = chunk.before.slots.seen
    return () if isinstance(first, tuple) else jnp.concatenate([first[None], views.obs.visible[:-1]])


def recorded_inference(model: Model, chunk: Chunk) -> tuple[Float[Array, "time envs slots type"], Prediction]:
    """What the model said at each step when it was taken, ready to be differentiated."""
    view, before, memory = chunk.timesteps.view, chunk.before.slots, chunk.memory.slots
    fresh = forgotten(seen_before(chunk, view), view)
    types = model.value.types.recorded_types(before.value, memory.value, view.obs, fresh)
    if model.agent is None:
        return types, Prediction(None, memory.entry)
    agent_types = types
    if model.agent.types is not None:
        agent_types = model.agent.types.recorded_types(before.agent, memory.agent, view.obs, fresh)
    return types, Prediction(over_chunk(model.agent.actions)(agent_types, view.obs.visible), memory.entry)


def successor_values(
    model: Model, target: ValueModel, target_states: LSTMState, chunk: Chunk, prediction: Prediction
) -> Float[Array, "time envs actions"]:
    """Qbar'(H', .): the target network's action values where each action led.

    If the time limit is a true end, the next view of the chunk is good enough: where it opens a new episode, its value
    is multiplied by zero. Otherwise the model infers once more, from each memory and the true successor.
    """
    after = chunk.next_timesteps
    if model.spec.time_limit_terminates:
        views = after.view
        last = jax.tree.map(lambda leaf: leaf[-1], (chunk.memory, views))
        _, last_prediction, _ = jax.vmap(model.infer)(*last)
        prediction = jax.tree.map(lambda now, end: jnp.concatenate([now[1:], end[None]]), prediction, last_prediction)
        types = target.types.types(target_states.hidden[1:])
    else:
        views = after.final_view
        _, prediction, _ = over_chunk(model.infer)(chunk.memory, views)
        before = jax.tree.map(lambda leaf: leaf[:-1], target_states)
        fresh = forgotten(chunk.memory.slots.seen, views)
        types, _ = over_chunk(target.types.step)(before, views.obs, fresh)
    team = team_of(types, prediction, views.obs.visible)
    return over_chunk(lambda team: target.head(team).action_values())(team)
