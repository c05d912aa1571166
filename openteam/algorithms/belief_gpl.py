"""GPL on a belief: AE-GPL, VAE-GPL and PF-GPL (paper, "GPL Pseudocode Under Partial Observability").

A belief has a few weighted hypotheses. Each has joint action values and a prediction of everybody's action, and is
marginalised as in GPL; the learner acts on the weighted mean. It learns the joint value of the actions that it saw,
with those of everybody else marginalised by the agent model.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.beliefs import AbstractBeliefSettings, Autoencoder
from openteam.algorithms.control import AbstractControl, choice_probabilities, choose, legal_values
from openteam.algorithms.td import AbstractTDLearner
from openteam.core.learner import Metrics, TrainState
from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Belief, Decision, Explanation
from openteam.core.types import Chunk, Spec, View, over_chunk
from openteam.errors import check_positive
from openteam.models.agent import AgentModelSizes
from openteam.models.belief.hypotheses import AbstractBelief, Hypotheses
from openteam.models.joint_value import AbstractPairwise, JointValueModel, PerEdge, expected_value, marginalise
from openteam.models.lstm import without_gates

Squares = Literal["each", "mean"]


class BeliefModel(eqx.Module):
    """Everything that is learned."""

    belief: AbstractBelief
    value: JointValueModel
    spec: Spec = eqx.field(static=True)


class BeliefPolicy(AbstractPolicy):
    """Acts on the action values under its belief; greedily without a control."""

    model: BeliefModel
    control: AbstractControl | None
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> Memory[Any, Any]:
        memory = self.model.belief.start(slots)
        return without_gates(memory) if self.control is None else memory

    def decide(self, key: Key[Array, ""], memory: Memory[Any, Any], view: View) -> Decision:
        k_belief, k_act = jax.random.split(key)
        hypotheses, memory = self.model.belief.step(k_belief, memory, view)
        values = mean_values(action_values(self.model.value, hypotheses), hypotheses)
        behaviour = values, view.obs.legal if self.mask_illegal else None, self.control, self.progress
        explanation = explain(self.model, hypotheses, values, choice_probabilities(*behaviour))
        return Decision(choose(k_act, *behaviour), memory, explanation)


class BeliefGPL(AbstractTDLearner):
    """Defaults are those of AE-GPL."""

    belief: AbstractBeliefSettings = Autoencoder()
    """What it infers hidden agents with: Autoencoder, VariationalAutoencoder or ParticleFilter."""
    max_grad_norm: float | None = eqx.field(static=True, default=10.0)
    """Clip the gradient to this global norm; None clips nothing."""
    values_shape_belief: bool = eqx.field(static=True, default=True)
    """The values' loss trains the belief too, as in the released code. In the paper's equations it does not."""
    squares: Squares = eqx.field(static=True, default="each")
    """Weighted sum of the hypotheses' squared errors (the paper), or square of their weighted mean (released VAE)."""
    pairwise: AbstractPairwise = PerEdge()
    """PerEdge, one factor per ordered pair (quadratic in the team), or Factored, one per agent (linear)."""
    utility_width: int = eqx.field(static=True, default=60)
    """Width of both hidden layers of the networks that turn representations into utilities."""
    agent_model: AgentModelSizes = AgentModelSizes()
    """Sizes of the agent model and of the belief's other models of actions."""

    def __check_init__(self) -> None:
        check_positive(self, "utility_width")

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_belief, k_value = jax.random.split(key)
        belief = self.belief.build(k_belief, spec, self.agent_model)
        value = JointValueModel(
            k_value, self.belief.representation_size, spec.actions, width=self.utility_width, pairwise=self.pairwise
        )
        return self.optimiser.start(BeliefModel(belief, value, spec))

    def policy(self, model: BeliefModel, progress: Float[Array, ""]) -> BeliefPolicy:
        return BeliefPolicy(model, self.control, progress, self.mask_illegal)

    def frozen(self, model: BeliefModel) -> BeliefPolicy:
        model = BeliefModel(self.belief.frozen(model.belief), model.value, model.spec)
        return BeliefPolicy(model, None, jnp.ones(()), self.mask_illegal)

    def context(self, state: TrainState, slots: int) -> tuple[()]:
        del state, slots
        return ()

    def update(
        self, key: Key[Array, ""], state: TrainState, context: tuple[()], chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, tuple[()], Metrics]:
        state, metrics = self.optimiser.step(state, lambda model: self.loss(key, model, state.target, chunk, progress))
        return state, context, metrics

    def loss(
        self,
        key: Key[Array, ""],
        model: BeliefModel,
        target: JointValueModel,
        chunk: Chunk,
        progress: Float[Array, ""],
    ) -> tuple[Float[Array, ""], Metrics]:
        """L = L_INF + L_SR + L_NLL + L_RL, weighted means over the chunk (paper, "Learning Objective")."""
        k_now, k_next = jax.random.split(key)
        visible, actions = chunk.timesteps.view.obs.visible, chunk.truth.actions

        # Belief inference, and the losses that shape the belief
        now, losses = model.belief.recorded_hypotheses(k_now, chunk)
        belief_loss = sum(self.belief.loss_weights[name] * loss for name, loss in losses.items())

        # The agent model, on the actions of teammates in sight
        agent_loss = agent_nll(now.logits, actions, visible)

        # The joint value of the actions in sight, towards the target network's value of where they led
        y = self.targets(k_next, model, target, chunk, now, progress)
        believed = now if self.values_shape_belief else jax.lax.stop_gradient(now)
        predicted = over_chunk(visible_joint_values, model.value)(believed, actions, visible)
        value_loss = squared_error(predicted - y, now.weight, self.squares)

        loss = value_loss + self.agent_model_weight * agent_loss + belief_loss
        metrics = {"value_loss": value_loss, "agent_model_loss": agent_loss, "joint_value": predicted.mean()}
        return loss, metrics | losses

    def targets(
        self,
        key: Key[Array, ""],
        model: BeliefModel,
        target: JointValueModel,
        chunk: Chunk,
        now: Hypotheses,
        progress: Float[Array, ""],
    ) -> Float[Array, "time envs samples"]:
        """y(u'_k) = r + gamma max_a Qbar(u'_k, a), or the control's other value of a successor.

        Where hypotheses of two steps are unrelated, all have the y of the weighted mean. Only the joint value has a
        target network.
        """
        next_timesteps = chunk.next_timesteps
        after = jax.lax.stop_gradient(successors(key, model, chunk, now))
        values = over_chunk(action_values, target)(after)
        if not model.belief.resamples:
            values = mean_values(values, after)[..., None, :]
        if self.mask_illegal:
            legal = next_timesteps.final_view.obs.legal[..., None, :]
            values = legal_values(values, jnp.broadcast_to(legal, values.shape))
        samples = values.shape[:-1]
        reward = jnp.broadcast_to(next_timesteps.reward[..., None], samples)
        discount = jnp.broadcast_to(self.discount * next_timesteps.discount[..., None], samples)
        return jax.lax.stop_gradient(self.control.target(reward, discount, values, progress))


def action_values(value: JointValueModel, hypotheses: Hypotheses) -> Float[Array, "samples actions"]:
    """Qbar(u_k, .) of every hypothesis (paper, algorithm QV_PART)."""

    def one(representation: Array, exists: Array, logits: Array) -> Array:
        return marginalise(value(representation), jax.nn.softmax(logits), exists)

    return jax.vmap(one)(hypotheses.representation, hypotheses.exists, hypotheses.logits)


def mean_values(
    values: Float[Array, "*batch samples actions"], hypotheses: Hypotheses
) -> Float[Array, "*batch actions"]:
    """Qbar(H, .) = sum_k w_k Qbar(u_k, .) / sum_k w_k (paper, algorithm QV_P_OBS)."""
    return (hypotheses.weight[..., None] * values).sum(-2)


def visible_joint_values(
    value: JointValueModel, hypotheses: Hypotheses, actions: Int[Array, "slots"], visible: Bool[Array, "slots"]
) -> Float[Array, "samples"]:
    """Q(u_k, a_V) = sum over a_-V of Q(u_k, a_V, a_-V) p(a_-V | u_k): actions out of sight are the agent model's."""
    taken = jax.nn.one_hot(actions, hypotheses.logits.shape[-1])

    def one(representation: Array, exists: Array, logits: Array) -> Array:
        choice = jnp.where(visible[:, None], taken, jax.lax.stop_gradient(jax.nn.softmax(logits)))
        return expected_value(value(representation), choice, exists)

    return jax.vmap(one)(hypotheses.representation, hypotheses.exists, hypotheses.logits)


def squared_error(
    td_error: Float[Array, "*batch samples"], weight: Float[Array, "*batch samples"], squares: Squares
) -> Float[Array, ""]:
    """L_RL: the mean of sum_k w_k d_k^2 ("each") or of (sum_k w_k d_k)^2 ("mean"), d_k = Q(u_k, a_V) - y_k."""
    if squares == "each":
        return (weight * td_error**2).sum(-1).mean()
    return jnp.mean((weight * td_error).sum(-1) ** 2)


def agent_nll(
    logits: Float[Array, "time envs samples slots actions"],
    actions: Int[Array, "time envs slots"],
    visible: Bool[Array, "time envs slots"],
) -> Float[Array, ""]:
    """L_NLL = -log q(a_V | u_k), the mean over teammates in sight and over hypotheses."""
    seen = visible.at[..., 0].set(False)[..., None, :]
    taken = jax.nn.one_hot(actions, logits.shape[-1])[..., None, :, :]
    log_likelihood = (jax.nn.log_softmax(logits) * taken).sum(-1).mean(-2, keepdims=True)
    return -jnp.where(seen, log_likelihood, 0).sum() / jnp.maximum(seen.sum(), 1)


def successors(key: Key[Array, ""], model: BeliefModel, chunk: Chunk, now: Hypotheses) -> Hypotheses:
    """u'_k, what is believed where each action led.

    If the time limit is a true end and nothing is resampled, they are the next step's hypotheses: where that opens a
    new episode its value is multiplied by zero. Otherwise the belief is updated with the true successor.
    """
    steps = slice(-1 if model.spec.time_limit_terminates and not model.belief.resamples else None, None)
    final, memory = jax.tree.map(lambda leaf: leaf[steps], (chunk.next_timesteps.final_view, chunk.memory))
    after = over_chunk(model.belief.follow)(jax.random.split(key, final.starts.shape), memory, final)
    if len(final.starts) == len(chunk.actions):
        return after
    return jax.tree.map(lambda first, last: jnp.concatenate([first[1:], last]), now, after)


def explain(
    model: BeliefModel,
    hypotheses: Hypotheses,
    values: Float[Array, "actions"],
    probabilities: Float[Array, "actions"],
) -> Explanation:
    """Utilities, predictions and representations as means over hypotheses by weight, and the belief itself."""
    weight, actions = hypotheses.weight, jax.nn.softmax(hypotheses.logits)
    utilities = jax.vmap(model.value)(hypotheses.representation)
    pairs = jax.vmap(lambda one: one.pairs())(utilities)
    state, terms = model.belief.decode(hypotheses), hypotheses.terms

    def mean(leaf: Float[Array, "samples *rest"]) -> Float[Array, "*rest"]:
        return jnp.tensordot(weight, leaf, 1)

    return Explanation(
        action_values=values,
        singular=mean(utilities.singular),
        pairwise=mean(pairs),
        predicted=mean(actions),
        types=mean(hypotheses.representation),
        belief=Belief(
            weight,
            hypotheses.exists,
            actions,
            state.rows[..., :-1],
            state.shared,
            None if terms is None else {part.name: getattr(terms, part.name) for part in dataclasses.fields(terms)},
        ),
        probabilities=probabilities,
    )
