"""What every value-based learner does: act on action values, learn towards a target network's value of the successor.

The learners differ in the model of values that is built on type inference, and in whether an agent model predicts what
teammates do (paper, algorithm "GPL Training" and table "Comparison between algorithms").
"""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.rules import AbstractRule, choose, legal_values
from openteam.algorithms.td_learning import AbstractTDLearner
from openteam.core.belief import AbstractBeliever, Belief
from openteam.core.chunks import acted_on, led_to, over_chunk
from openteam.core.learner import Metrics, TrainState
from openteam.core.types import Chunk, Observation, Spec
from openteam.errors import check_positive
from openteam.models.agent import AgentModel, RelationalForwardModel, action_log_likelihood
from openteam.models.graph import Graph
from openteam.models.lstm import Memory
from openteam.models.places import Placed
from openteam.models.types import TypeInference
from openteam.models.value import AbstractValueModel, Team


class ValueMemory(eqx.Module):
    """One memory per type inference network, and who sits where if that matters."""

    value: Memory
    agent: Memory | None
    placed: Placed | None


class Outlook(eqx.Module):
    """What a step tells besides the types: logits of everybody's next action, and everybody's place."""

    logits: Float[Array, "*batch slots actions"] | None
    place: Int[Array, "*batch slots"] | None


class Model(eqx.Module):
    """Everything that is learned."""

    value: AbstractValueModel
    agent: AgentModel | None
    spec: Spec = eqx.field(static=True)

    def start(self, slots: int) -> ValueMemory:
        return ValueMemory(
            self.value.types.start(slots),
            None if self.agent is None else self.agent.start(slots),
            None if self.value.places is None else self.value.places.start(slots),
        )

    def look(
        self, memory: ValueMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Float[Array, "slots type"], Outlook, ValueMemory]:
        """The value model's types and everything else, after one more observation."""
        types, value = self.value.types.step(memory.value, obs, fresh)
        logits, agent, placed = None, memory.agent, memory.placed
        if self.agent is not None:
            logits, agent = self.agent.step(agent, types, obs, fresh)
        if self.value.places is not None:
            assert placed is not None
            placed = self.value.places.step(placed, obs, fresh)
        return types, Outlook(logits, None if placed is None else placed.place), ValueMemory(value, agent, placed)


def team_of(types: Float[Array, "*batch slots type"], outlook: Outlook, visible: Bool[Array, "*batch slots"]) -> Team:
    """What value models look at. The values' loss must not reach the agent model."""
    logits = outlook.logits
    probabilities = None if logits is None else jax.nn.softmax(jax.lax.stop_gradient(logits))
    return Team(types, visible, probabilities, outlook.place)


class ValuePolicy(AbstractBeliever):
    """The learner: its action values, and a rule that chooses among them; greedy without a rule."""

    model: Model
    rule: AbstractRule | None
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> ValueMemory:
        return self.model.start(slots)

    def reveal(
        self, key: Key[Array, ""], memory: ValueMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], ValueMemory, Belief]:
        values, team, memory = self.action_values(memory, obs, fresh)
        action = choose(key, values, obs.legal if self.mask_illegal else None, self.rule, self.progress)
        return action, memory, certainty(team)

    def action_values(
        self, memory: ValueMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Float[Array, "actions"], Team, ValueMemory]:
        """Qbar(H, .), the paper's QV, and the team that it is about."""
        types, outlook, memory = self.model.look(memory, obs, fresh)
        team = team_of(types, outlook, obs.visible)
        return self.model.value.values(team), team, memory


def certainty(team: Team) -> Belief:
    """The one hypothesis of somebody who believes what it sees: nobody is there but those in sight."""
    actions = None if team.probabilities is None else team.probabilities[None]
    return Belief(jnp.ones(1), team.visible[None].astype(jnp.float32), actions, None, None)


class AbstractValueLearner(AbstractTDLearner):
    """Defaults are the sizes and settings behind the paper's foraging results."""

    shared_types: bool = eqx.field(static=True, default=False)
    """One type inference network for values and agent model, as in the released code under partial observability,
    instead of the paper's two: what predicting teammates teaches then serves values too, and it is faster."""
    encoder_width: int = eqx.field(static=True, default=100)
    """Width of the two layers before the LSTM."""
    hidden: int = eqx.field(static=True, default=100)
    """Width of the LSTM."""
    type_size: int = eqx.field(static=True, default=70)
    """Length of a type vector."""

    def __check_init__(self) -> None:
        check_positive(self, "encoder_width", "hidden", "type_size")

    @abstractmethod
    def value_model(self, key: Key[Array, ""], types: TypeInference, spec: Spec) -> AbstractValueModel:
        """Values on top of these types, with fresh parameters."""

    @property
    @abstractmethod
    def agent_graph(self) -> Graph | None:
        """Who exchanges messages in the agent model; None for a learner without one."""

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_value_types, k_value, k_agent_types, k_actions = jax.random.split(key, 4)
        sizes = {"encoder_width": self.encoder_width, "hidden": self.hidden, "type_size": self.type_size}
        value = self.value_model(k_value, TypeInference(k_value_types, spec, **sizes), spec)
        agent = None
        if self.agent_graph is not None:
            agent = AgentModel(
                None if self.shared_types else TypeInference(k_agent_types, spec, **sizes),
                RelationalForwardModel(
                    k_actions, self.type_size, spec.actions, graph=self.agent_graph, **self.agent_sizes
                ),
            )
        return self.begin(Model(value, agent, spec))

    def policy(self, model: Model, progress: Float[Array, ""]) -> ValuePolicy:
        return ValuePolicy(model, self.rule, progress, self.mask_illegal)

    def frozen(self, model: Model) -> ValuePolicy:
        return ValuePolicy(model, None, jnp.ones(()), self.mask_illegal)

    def context(self, state: TrainState, slots: int) -> Memory:
        """The target network's memory."""
        return state.target.types.start(slots)

    def update(
        self, state: TrainState, context: Memory, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, Memory, Metrics]:
        target_memory = state.target.types.unroll(context, chunk.timesteps.obs, chunk.timesteps.fresh)

        def loss(model: Model) -> tuple[Float[Array, ""], Metrics]:
            return self.loss(model, state.target, target_memory, chunk, progress)

        state, metrics = self.descend(state, loss)
        # The last observation opens the next chunk too, so the target remembers only what came before it.
        return state, jax.tree.map(lambda leaf: leaf[-2], target_memory), metrics

    def loss(
        self, model: Model, target: AbstractValueModel, target_memory: Memory, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """Squared error of the value, plus the agent model's negative log likelihood, means over the chunk."""
        acted, led = acted_on(chunk), led_to(chunk)
        types = model.value.types.replay(chunk.before.value, chunk.memory.value, acted.obs, acted.fresh)
        logits = model_logits(model, types, chunk)
        placed = chunk.memory.placed
        outlook = Outlook(logits, None if placed is None else placed.place)

        next_values = self.successor_values(model, target, target_memory, chunk, outlook)
        if self.mask_illegal:
            next_values = legal_values(next_values, led.final_obs.legal)
        y = led.reward + self.discount * led.discount * self.rule.next_value(next_values, progress)

        team = team_of(types, outlook, acted.obs.visible)
        predicted, penalty = over_chunk(model.value.taken)(team, chunk.truth.actions)
        value_loss = jnp.mean((predicted - jax.lax.stop_gradient(y)) ** 2)
        loss, metrics = value_loss, {"value_loss": value_loss, model.value.scored: predicted.mean()}
        if logits is not None:
            agent_loss = agent_model_loss(logits, chunk)
            loss, metrics = loss + self.agent_model_weight * agent_loss, metrics | {"agent_model_loss": agent_loss}
        if penalty is not None:
            loss, metrics = loss + penalty.mean(), metrics | {"penalty": penalty.mean()}
        if model.value.never_negative:
            metrics |= {"unreachable_targets": jnp.mean(y < 0)}
        return loss, metrics

    def successor_values(
        self, model: Model, target: AbstractValueModel, target_memory: Memory, chunk: Chunk, outlook: Outlook
    ) -> Float[Array, "time envs actions"]:
        """Qbar of the target network where each action led.

        If the time limit is a true end, the next observation of the chunk is good enough: where it opens a new episode
        its value is multiplied by zero. Otherwise the true successor has to be looked at from each memory.
        """
        led = led_to(chunk)
        if model.spec.time_limit_terminates:
            seen = led.obs
            last = jax.tree.map(lambda leaf: leaf[-1], (chunk.memory, led.obs, led.fresh))
            _, last_outlook, _ = jax.vmap(model.look)(*last)
            outlook = jax.tree.map(lambda now, end: jnp.concatenate([now[1:], end[None]]), outlook, last_outlook)
            types = target.types.types(target_memory.hidden[1:])
        else:
            seen = led.final_obs
            _, outlook, _ = over_chunk(model.look)(chunk.memory, seen, led.joined)
            before = jax.tree.map(lambda leaf: leaf[:-1], target_memory)
            types, _ = over_chunk(target.types.step)(before, seen, led.joined)
        return over_chunk(target.values)(team_of(types, outlook, seen.visible))


def model_logits(
    model: Model, value_types: Float[Array, "time envs slots type"], chunk: Chunk
) -> Float[Array, "time envs slots actions"] | None:
    """What the agent model expected of everybody at each step, ready to be differentiated."""
    if model.agent is None:
        return None
    acted, types = acted_on(chunk), value_types
    if model.agent.types is not None:
        types = model.agent.types.replay(chunk.before.agent, chunk.memory.agent, acted.obs, acted.fresh)
    return over_chunk(model.agent.actions)(types, acted.obs.visible)


def agent_model_loss(logits: Float[Array, "time envs slots actions"], chunk: Chunk) -> Float[Array, ""]:
    """Negative log likelihood of what teammates did, per teammate that was seen."""
    visible = acted_on(chunk).obs.visible
    log_likelihood = over_chunk(action_log_likelihood)(logits, chunk.truth.actions, visible)
    return -log_likelihood.sum() / jnp.maximum(visible[..., 1:].sum(), 1)
