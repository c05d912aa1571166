"""GPL on a belief: what AE-GPL, VAE-GPL and PF-GPL have in common (paper, appendices on partial observability).

A belief offers a few weighted hypotheses. Each has joint action values and an agent model's prediction, and is
marginalised as in GPL; the learner acts on the weighted mean. It learns the joint value of what was done by those it
saw, with all others marginalised by the agent model.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.algorithms.rules import AbstractRule, choose, legal_values
from openteam.algorithms.td_learning import AbstractTDLearner
from openteam.core.belief import AbstractBeliever, Belief
from openteam.core.chunks import acted_on, led_to, over_chunk
from openteam.core.learner import Metrics, TrainState
from openteam.core.random import key as make_key
from openteam.core.types import Chunk, Observation, Spec
from openteam.errors import check_positive
from openteam.models.belief.hypotheses import AbstractBelief, Hypotheses, preprocess
from openteam.models.joint_value import JointValueModel, Pairwise, expected_value, marginalise

NO_ACTION = -1


class BeliefModel(eqx.Module):
    """Everything that is learned."""

    belief: AbstractBelief
    value: JointValueModel
    spec: Spec = eqx.field(static=True)


class BeliefMemory(eqx.Module):
    """What the belief remembers, and the learner's last action."""

    belief: PyTree[Any]
    previous: Int[Array, "*batch"]


class BeliefPolicy(AbstractBeliever):
    """The learner: action values under its belief, and a rule that chooses among them; greedy without a rule."""

    model: BeliefModel
    rule: AbstractRule | None
    progress: Float[Array, ""]
    mask_illegal: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> BeliefMemory:
        return BeliefMemory(self.model.belief.start(slots), jnp.asarray(NO_ACTION, jnp.int32))

    def reveal(
        self, key: Key[Array, ""], memory: BeliefMemory, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], BeliefMemory, Belief]:
        k_belief, k_act = jax.random.split(key)
        starts = fresh[0]  # the learner is new to itself only then
        seen = preprocess(obs, jnp.where(starts, NO_ACTION, memory.previous))
        hypotheses, remembered = self.model.belief.step(k_belief, memory.belief, seen, starts)
        values = mean_values(action_values(self.model.value, hypotheses), hypotheses)
        action = choose(k_act, values, obs.legal if self.mask_illegal else None, self.rule, self.progress)
        return action, BeliefMemory(remembered, action), reveal(self.model.belief, hypotheses)

    def having_done(self, memory: BeliefMemory, action: Int[Array, ""]) -> BeliefMemory:
        return BeliefMemory(memory.belief, action)


def reveal(belief: AbstractBelief, hypotheses: Hypotheses) -> Belief:
    """A belief in the terms of the world."""
    state, actions = belief.decode(hypotheses), jax.nn.softmax(hypotheses.logits)
    return Belief(hypotheses.weight, hypotheses.exists, actions, state.rows[..., :-1], state.shared)


def action_values(value: JointValueModel, hypotheses: Hypotheses) -> Float[Array, "samples actions"]:
    """Qbar(u_k, .) of every hypothesis."""

    def one(representation: Array, exists: Array, logits: Array) -> Array:
        return marginalise(value(representation), jax.nn.softmax(logits), exists)

    return jax.vmap(one)(hypotheses.representation, hypotheses.exists, hypotheses.logits)


def values_of_seen(
    value: JointValueModel, hypotheses: Hypotheses, actions: Int[Array, "slots"], visible: Bool[Array, "slots"]
) -> Float[Array, "samples"]:
    """Q(u_k, a_V): what those in sight did is known, what the others do is left to the agent model."""
    taken = jax.nn.one_hot(actions, hypotheses.logits.shape[-1])

    def one(representation: Array, exists: Array, logits: Array) -> Array:
        choice = jnp.where(visible[:, None], taken, jax.lax.stop_gradient(jax.nn.softmax(logits)))
        return expected_value(value(representation), choice, exists)

    return jax.vmap(one)(hypotheses.representation, hypotheses.exists, hypotheses.logits)


def mean_values(
    values: Float[Array, "*batch samples actions"], hypotheses: Hypotheses
) -> Float[Array, "*batch actions"]:
    """Qbar(H, .), the mean over hypotheses by their weights."""
    return (hypotheses.weight[..., None] * values).sum(-2)


class AbstractBeliefLearner(AbstractTDLearner):
    """What belongs to GPL; a subclass adds a belief and the weights of its losses."""

    max_grad_norm: float | None = eqx.field(static=True, default=10.0)
    """Clip the gradient to this global norm; None clips nothing."""
    values_shape_belief: bool = eqx.field(static=True, default=True)
    """The values' loss trains the belief too, as in the released code. In the paper's equations it does not."""
    squares: Literal["each", "mean"] = eqx.field(static=True, default="each")
    """Weighted sum of the hypotheses' squared errors (the paper), or square of their weighted mean (released VAE)."""
    rank: int = eqx.field(static=True, default=5)
    """Rank K of the pairwise utilities."""
    pairwise: Pairwise = eqx.field(static=True, default="factored")
    """One factor per agent (linear in the team) or per edge (quadratic)."""

    def __check_init__(self) -> None:
        check_positive(self, "rank")

    @abstractmethod
    def belief(self, key: Key[Array, ""], spec: Spec) -> tuple[AbstractBelief, int]:
        """A belief with fresh parameters, and the size of its representations."""

    @property
    @abstractmethod
    def weights(self) -> dict[str, float]:
        """The weight of each of the belief's losses, by name."""

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_belief, k_value = jax.random.split(key)
        belief, size = self.belief(k_belief, spec)
        value = JointValueModel(
            k_value, size, spec.actions, width=self.utility_width, rank=self.rank, form=self.pairwise
        )
        return self.begin(BeliefModel(belief, value, spec))

    def policy(self, model: BeliefModel, progress: Float[Array, ""]) -> BeliefPolicy:
        return BeliefPolicy(model, self.rule, progress, self.mask_illegal)

    def frozen(self, model: BeliefModel) -> BeliefPolicy:
        return BeliefPolicy(model, None, jnp.ones(()), self.mask_illegal)

    def context(self, state: TrainState, slots: int) -> tuple[()]:
        del state, slots
        return ()

    def update(
        self, state: TrainState, context: tuple[()], chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, tuple[()], Metrics]:
        # Which hypotheses are drawn need not differ between runs, only between updates.
        key = jax.random.fold_in(make_key(0), state.updates)

        def loss(model: BeliefModel) -> tuple[Float[Array, ""], Metrics]:
            return self.loss(key, model, state.target, chunk, progress)

        state, metrics = self.descend(state, loss)
        return state, context, metrics

    def loss(
        self,
        key: Key[Array, ""],
        model: BeliefModel,
        target: JointValueModel,
        chunk: Chunk,
        progress: Float[Array, ""],
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_RL + L_NLL + the belief's own losses, means over the chunk."""
        k_replay, k_follow = jax.random.split(key)
        acted, memory = acted_on(chunk), chunk.memory.belief
        seen = over_chunk(preprocess)(acted.obs, previous_actions(chunk))
        now, terms = model.belief.replay(k_replay, chunk.before.belief, memory, seen, acted.starts, chunk.truth)
        y = self.targets(k_follow, model, target, chunk, now, progress)

        believed = now if self.values_shape_belief else jax.lax.stop_gradient(now)
        predicted = over_chunk(values_of_seen, model.value)(believed, chunk.truth.actions, acted.obs.visible)
        if self.squares == "each":
            value_loss = (now.weight * (predicted - y) ** 2).sum(-1).mean()
        else:
            value_loss = jnp.mean((now.weight * (predicted - y)).sum(-1) ** 2)
        agent_loss = agent_model_loss(now.logits, chunk)
        loss = value_loss + self.agent_model_weight * agent_loss
        loss += sum(self.weights[name] * term for name, term in terms.items())
        metrics = {"value_loss": value_loss, "agent_model_loss": agent_loss, "joint_value": predicted.mean()}
        return loss, metrics | terms

    def targets(
        self,
        key: Key[Array, ""],
        model: BeliefModel,
        target: JointValueModel,
        chunk: Chunk,
        now: Hypotheses,
        progress: Float[Array, ""],
    ) -> Float[Array, "time envs samples"]:
        """y of every hypothesis, where each action led. Only the joint value has a target network."""
        led = led_to(chunk)
        after = jax.lax.stop_gradient(self.successors(key, model, chunk, now))
        values = over_chunk(action_values, target)(after)
        if not model.belief.resamples:  # hypotheses of two steps have nothing to do with each other
            values = mean_values(values, after)[..., None, :]
        if self.mask_illegal:
            values = legal_values(values, jnp.broadcast_to(led.final_obs.legal[..., None, :], values.shape))
        ahead = self.discount * led.discount[..., None] * self.rule.next_value(values, progress)
        return jax.lax.stop_gradient(led.reward[..., None] + ahead)

    def successors(self, key: Key[Array, ""], model: BeliefModel, chunk: Chunk, now: Hypotheses) -> Hypotheses:
        """What is believed where each action led.

        If the time limit is a true end and nothing is resampled, the next step's belief is good enough: where it opens
        a new episode its value is multiplied by zero. Otherwise the true successor has to be looked at.
        """
        steps = slice(-1 if model.spec.time_limit_terminates and not model.belief.resamples else None, None)
        final, memory, actions = jax.tree.map(
            lambda leaf: leaf[steps], (led_to(chunk).final_obs, chunk.memory.belief, chunk.actions)
        )
        seen = over_chunk(preprocess)(final, actions)
        after = over_chunk(model.belief.follow)(jax.random.split(key, actions.shape), memory, seen)
        if len(actions) == len(chunk.actions):
            return after
        return jax.tree.map(lambda first, last: jnp.concatenate([first[1:], last]), now, after)


def previous_actions(chunk: Chunk) -> Int[Array, "time envs"]:
    """The learner's own action before each step."""
    before = jnp.concatenate([chunk.before.previous[None], chunk.actions[:-1]])
    return jnp.where(acted_on(chunk).starts, NO_ACTION, before)


def agent_model_loss(logits: Float[Array, "time envs samples slots actions"], chunk: Chunk) -> Float[Array, ""]:
    """Negative log likelihood of what teammates in sight did, the mean over them and over hypotheses."""
    seen = acted_on(chunk).obs.visible.at[..., 0].set(False)[..., None, :]
    taken = jax.nn.one_hot(chunk.truth.actions, logits.shape[-1])[..., None, :, :]
    log_likelihood = (jax.nn.log_softmax(logits) * taken).sum(-1).mean(-2, keepdims=True)
    return -jnp.where(seen, log_likelihood, 0).sum() / jnp.maximum(seen.sum(), 1)
