"""Graph-based Policy Learning: GPL-Q and GPL-SPI (paper, algorithm "GPL Training").

Two type inference networks feed a joint action value model and an agent model. The learner acts on the joint value
with teammates marginalised out; the joint value learns towards a target network's value of the successor, the agent
model towards the actions that teammates took.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.rules import AbstractRule, QLearning
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.policy import AbstractPolicy
from openteam.core.types import Chunk, Observation, Spec
from openteam.errors import UserError
from openteam.models.agent import RelationalForwardModel, action_log_likelihood
from openteam.models.joint_value import JointValueModel, Pairwise, joint_value, marginalise
from openteam.models.lstm import Memory
from openteam.models.types import TypeInference


class ValueModel(eqx.Module):
    """alpha_Q, beta, delta: the part that has a target network."""

    types: TypeInference
    joint: JointValueModel


class AgentModel(eqx.Module):
    """alpha_q, zeta, eta."""

    types: TypeInference
    actions: RelationalForwardModel


class GPLModel(eqx.Module):
    """Everything that is learned."""

    value: ValueModel
    agent: AgentModel
    spec: Spec = eqx.field(static=True)


class GPLMemory(eqx.Module):
    """One memory per type inference network."""

    value: Memory
    agent: Memory


class GPLPolicy(AbstractPolicy):
    """The learner: marginal action values, and a rule that chooses among them; greedy without a rule."""

    model: GPLModel
    rule: AbstractRule | None
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> GPLMemory:
        return GPLMemory(self.model.value.types.start(slots), self.model.agent.types.start(slots))

    def act(
        self, key: Key[Array, ""], memory: GPLMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], GPLMemory]:
        values, memory = self.action_values(memory, obs, fresh)
        values = legal_values(values, obs.legal) if self.mask_illegal else values
        if self.rule is None:
            return jnp.argmax(values).astype(jnp.int32), memory
        return self.rule.act(key, values, self.progress), memory

    def action_values(
        self, memory: GPLMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Float[Array, "actions"], GPLMemory]:
        """Qbar(H, .), the paper's QV."""
        value_types, value_memory = self.model.value.types.step(memory.value, obs, fresh)
        agent_types, agent_memory = self.model.agent.types.step(memory.agent, obs, fresh)
        logits = self.model.agent.actions(agent_types, obs.visible)
        values = marginalise(self.model.value.joint(value_types), jax.nn.softmax(logits), obs.visible)
        return values, GPLMemory(value_memory, agent_memory)


class GPL(AbstractLearner):
    """Graph-based Policy Learning. Defaults are the sizes and settings behind the paper's foraging results."""

    rule: AbstractRule = QLearning()
    """QLearning gives GPL-Q, SoftPolicyIteration gives GPL-SPI."""
    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=4)
    """Steps of each environment between two updates (t_update)."""
    learning_rate: float = eqx.field(static=True, default=2.5e-4)
    """Adam's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    target_rate: float = eqx.field(static=True, default=0.001)
    """Part of the way the target network moves towards the value model at every update."""
    agent_model_weight: float = eqx.field(static=True, default=1.0)
    """Weight of the agent model's loss."""
    max_grad_norm: float | None = eqx.field(static=True, default=None)
    """Clip the gradient to this global norm; None clips nothing, as the paper."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect. The paper's learner may waste a step."""
    encoder_width: int = eqx.field(static=True, default=100)
    """Width of the two layers before the LSTM."""
    hidden: int = eqx.field(static=True, default=100)
    """Width of the LSTM."""
    type_size: int = eqx.field(static=True, default=70)
    """Length of a type vector."""
    utility_width: int = eqx.field(static=True, default=60)
    """Width of both hidden layers of the utility networks."""
    rank: int = eqx.field(static=True, default=5)
    """Rank K of the pairwise utilities."""
    pairwise: Pairwise = eqx.field(static=True, default="factored")
    """One factor per agent (the paper's section: linear in the team) or per edge (its appendix: quadratic)."""
    message_width: int = eqx.field(static=True, default=30)
    """Width of the agent model's edge and node networks."""
    embedding: int = eqx.field(static=True, default=70)
    """Length of the agent model's messages and node embeddings."""
    readout_width: int = eqx.field(static=True, default=20)
    """Width of the agent model's read-out."""

    def __check_init__(self) -> None:
        for name in (
            "envs", "update_every", "learning_rate", "encoder_width", "hidden", "type_size", "utility_width", "rank",
            "message_width", "embedding", "readout_width",
        ):  # fmt: skip
            if not getattr(self, name) > 0:
                raise UserError(f"GPL's {name} must be positive; got {getattr(self, name)}.")
        if not (0 <= self.discount <= 1 and 0 < self.target_rate <= 1):
            raise UserError(
                f"GPL needs 0 <= discount <= 1 and 0 < target_rate <= 1; got {self.discount}, {self.target_rate}."
            )

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_value_types, k_joint, k_agent_types, k_actions = jax.random.split(key, 4)
        sizes = {"encoder_width": self.encoder_width, "hidden": self.hidden, "type_size": self.type_size}
        value = ValueModel(
            TypeInference(k_value_types, spec, **sizes),
            JointValueModel(
                k_joint, self.type_size, spec.actions, width=self.utility_width, rank=self.rank, form=self.pairwise
            ),
        )
        agent = AgentModel(
            TypeInference(k_agent_types, spec, **sizes),
            RelationalForwardModel(
                k_actions, self.type_size, spec.actions,
                width=self.message_width, embedding=self.embedding, readout_width=self.readout_width,
            ),
        )  # fmt: skip
        model = GPLModel(value, agent, spec)
        return TrainState(model, value, self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(self.max_grad_norm) if self.max_grad_norm else optax.identity()
        return optax.flatten(optax.chain(clip, optax.adam(self.learning_rate)))

    def policy(self, model: GPLModel, progress: Float[Array, ""]) -> GPLPolicy:
        return GPLPolicy(model, self.rule, progress, self.mask_illegal)

    def frozen(self, model: GPLModel) -> GPLPolicy:
        return GPLPolicy(model, None, jnp.ones(()), self.mask_illegal)

    def context(self, state: TrainState, slots: int) -> Memory:
        """The target network's memory."""
        return state.target.types.start(slots)

    def update(
        self, state: TrainState, context: Memory, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, Memory, Metrics]:
        target_memory = state.target.types.unroll(context, chunk.timesteps.obs, chunk.timesteps.fresh)

        def loss(model: GPLModel) -> tuple[Float[Array, ""], Metrics]:
            return self.loss(model, state.target, target_memory, chunk, progress)

        (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(state.model)
        step, opt_state = self.optimiser.update(gradient, state.opt_state, state.model)
        model: GPLModel = eqx.apply_updates(state.model, step)
        target = jax.tree.map(lambda new, old: old + self.target_rate * (new - old), model.value, state.target)
        # The last observation opens the next chunk too, so the target remembers only what came before it.
        context = jax.tree.map(lambda leaf: leaf[-2], target_memory)
        metrics |= {"gradient_norm": optax.tree.norm(gradient)}
        return TrainState(model, target, opt_state, state.updates + 1), context, metrics

    def loss(
        self, model: GPLModel, target: ValueModel, target_memory: Memory, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """Squared error of the joint value, plus the agent model's negative log likelihood, means over the chunk."""
        acted = jax.tree.map(lambda leaf: leaf[:-1], chunk.timesteps)
        led = jax.tree.map(lambda leaf: leaf[1:], chunk.timesteps)
        visible, actions = acted.obs.visible, chunk.truth.actions

        agent_types = model.agent.types.replay(chunk.before.agent, chunk.memory.agent, acted.obs, acted.fresh)
        logits = over_chunk(model.agent.actions)(agent_types, visible)
        log_likelihood = over_chunk(action_log_likelihood)(logits, actions, visible)
        teammates = jnp.maximum(visible[..., 1:].sum(), 1)
        agent_loss = -log_likelihood.sum() / teammates

        next_values = self.successor_values(model, target, target_memory, chunk, logits)
        if self.mask_illegal:
            next_values = legal_values(next_values, led.final_obs.legal)
        y = led.reward + self.discount * led.discount * self.rule.next_value(next_values, progress)

        value_types = model.value.types.replay(chunk.before.value, chunk.memory.value, acted.obs, acted.fresh)
        predicted = over_chunk(joint_value)(over_chunk(model.value.joint)(value_types), actions, visible)
        value_loss = jnp.mean((predicted - jax.lax.stop_gradient(y)) ** 2)
        metrics = {"value_loss": value_loss, "agent_model_loss": agent_loss, "joint_value": predicted.mean()}
        return value_loss + self.agent_model_weight * agent_loss, metrics

    def successor_values(
        self, model: GPLModel, target: ValueModel, target_memory: Memory, chunk: Chunk, logits: Array
    ) -> Float[Array, "time envs actions"]:
        """Qbar of the target network where each action led.

        If the time limit is a true end, the next observation of the chunk is good enough: where it opens a new episode
        its value is multiplied by zero. Otherwise the true successor has to be looked at from each memory.
        """
        led = jax.tree.map(lambda leaf: leaf[1:], chunk.timesteps)
        agent = model.agent
        if model.spec.time_limit_terminates:
            seen = led.obs
            last = jax.tree.map(lambda leaf: leaf[-1], (chunk.memory.agent, led.obs, led.fresh))
            last_types, _ = jax.vmap(agent.types.step)(*last)
            last_logits = jax.vmap(agent.actions)(last_types, last[1].visible)
            logits = jnp.concatenate([logits[1:], last_logits[None]])
            value_types = target.types.types(target_memory.hidden[1:])
        else:
            seen = led.final_obs
            agent_types, _ = over_chunk(agent.types.step)(chunk.memory.agent, seen, led.joined)
            logits = over_chunk(agent.actions)(agent_types, seen.visible)
            before = jax.tree.map(lambda leaf: leaf[:-1], target_memory)
            value_types, _ = over_chunk(target.types.step)(before, seen, led.joined)
        probabilities = jax.nn.softmax(jax.lax.stop_gradient(logits))
        return over_chunk(marginalise)(over_chunk(target.joint)(value_types), probabilities, seen.visible)


def over_chunk(function: Any) -> Any:
    """Apply what is written for one step of one environment to ``[time, envs, ...]``."""
    return jax.vmap(jax.vmap(function))


def legal_values(
    values: Float[Array, "*batch actions"], legal: Bool[Array, "*batch actions"]
) -> Float[Array, "*batch actions"]:
    """Minus infinity where an action has no effect."""
    return jnp.where(legal, values, -jnp.inf)
