"""Multi-agent DDPG (Lowe et al., 2017) for open teams and discrete actions: trained jointly, then one plays alone.

An actor on one agent's view of the team, and a critic that also knows everybody's actions. Both are networks on a list
of fixed length, in which whoever an output is for stands first. All agents share them, or each has its own.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.masked import masked_mean
from openteam.algorithms.policy_gradient import entropy
from openteam.algorithms.replay import AgentState, ReplayBuffer, Transition
from openteam.core.learner import AbstractJointLearner, Metrics, TrainState
from openteam.core.memory import Memory
from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.sides import Sides
from openteam.core.types import Chunk, Spec, View
from openteam.core.view import viewer_first
from openteam.errors import UserError, check_in, check_not_negative, check_positive
from openteam.models.fixed_slots import ABSENT, fixed_size
from openteam.models.layers import MLP
from openteam.models.policy import action_probabilities, draw_action, gumbel_noise, masked_logits
from openteam.models.straight_through import straight_through


class MADDPGModel(eqx.Module):
    """The actor's logits from one agent's list of the team; the critic's value of that, given everybody's actions.

    With ``separate`` networks, arrays of both have a leading axis of that many agents, which are the task's slots.
    """

    actor: MLP
    critic: MLP
    max_agents: int = eqx.field(static=True)
    spec: Spec = eqx.field(static=True)
    separate: int | None = eqx.field(static=True, default=None)

    def of_agent(self, slot: Int[Array, ""] | int) -> MADDPGModel:
        """The networks of the agent in that slot."""
        if self.separate is None:
            return self
        actor, critic = jax.tree.map(lambda leaf: leaf[slot], (self.actor, self.critic))
        return MADDPGModel(actor, critic, self.max_agents, self.spec)

    def logits(self, *inputs: Float[Array, "*batch slots _"]) -> Float[Array, "*batch slots actions"]:
        """Everybody's logits, from everybody's list and shared features."""
        return self.by_slot(self.actor, *inputs)

    def values(self, *inputs: Float[Array, "*batch slots _"]) -> Float[Array, "*batch slots"]:
        """Everybody's value, from everybody's list, shared features, and list of actions."""
        return self.by_slot(self.critic, *inputs)[..., 0]

    def by_slot(self, network: MLP, *inputs: Float[Array, "*batch slots _"]) -> Float[Array, "*batch slots out"]:
        if self.separate is None:
            return network(*inputs)
        return jax.vmap(lambda own, *rows: own(*rows), (0, *[-2] * len(inputs)), -2)(network, *inputs)

    def arrange(
        self, rows: Float[Array, "slots size"], rotation: Float[Array, ""], empty: float
    ) -> Float[Array, "max_agents_times_size"]:
        """A team as a list of fixed length: the first row first, the others rotated by a fraction of the rest.

        Training fills fewer entries than a larger team. Without a random rotation the last ones would never be trained.
        """
        if len(rows) > self.max_agents:
            raise UserError(
                f"This MADDPG was trained for teams of at most {self.max_agents} agents and the team has room for "
                f"{len(rows)}. Train it with --algorithm.max-agents {len(rows)}."
            )
        others = jnp.pad(rows[1:], ((0, self.max_agents - len(rows)), (0, 0)), constant_values=empty)
        shift = jnp.floor(rotation * len(others)).astype(jnp.int32)
        return jnp.concatenate([rows[:1], jnp.roll(others, shift, axis=0)]).reshape(-1)


def new_model(
    key: Key[Array, ""], spec: Spec, *, max_agents: int, width: int, separate: int | None = None
) -> MADDPGModel:
    """Networks that have learned nothing."""
    rows = (max_agents * spec.agent_features, spec.shared_features)

    def networks(key: Key[Array, ""]) -> tuple[MLP, MLP]:
        k_actor, k_critic = jax.random.split(key)
        actor = MLP(k_actor, rows, width, width, spec.actions)
        return actor, MLP(k_critic, (*rows, max_agents * spec.actions), width, width, 1)

    if separate is None:
        actor, critic = networks(key)
    else:
        actor, critic = eqx.filter_vmap(networks)(jax.random.split(key, separate))
    return MADDPGModel(actor, critic, max_agents, spec, separate)


class MADDPGPolicy(AbstractMemoryless):
    """Samples from the actor's logits, which is all the exploration there is."""

    model: MADDPGModel
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    mask_illegal: bool = eqx.field(static=True, default=False)
    sides: Sides = Sides()

    def in_slot(self, slot: Int[Array, ""]) -> MADDPGPolicy:
        return dataclasses.replace(self, model=self.model.of_agent(slot))

    def decide(self, key: Key[Array, ""], memory: Memory[tuple[()], tuple[()]], view: View) -> Decision:
        k_rotation, k_action = jax.random.split(key)
        obs = view.obs
        seen = obs.visible & ~self.sides.hidden(len(obs.visible))[0]
        rows = jnp.where(seen[:, None], obs.agents, ABSENT)
        team = self.model.arrange(rows, jax.random.uniform(k_rotation), ABSENT)
        logits = masked_logits(self.model.actor(team, obs.shared), obs.legal, self.mask_illegal)
        explanation = Explanation(probabilities=action_probabilities(logits, self.temperature))
        return Decision(draw_action(k_action, logits, self.temperature), memory, explanation)


class MADDPG(AbstractJointLearner):
    """Multi-agent DDPG with straight-through Gumbel-softmax, without memory."""

    max_agents: int | None = eqx.field(static=True, default=None)
    """The largest team it can be used in, itself included; None takes the largest of the task's splits."""
    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=6)
    """Steps of each environment between two updates."""
    replay: ReplayBuffer = ReplayBuffer(size=50_000, batch=1024, warm_up=10_000)
    """What it learns from."""
    learning_rate: float = eqx.field(static=True, default=5e-4)
    """Adam's step size, of actor and critic."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    target_rate: float = eqx.field(static=True, default=0.01)
    """Fraction of the way that the target networks move towards actor and critic at every update."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect."""
    logit_weight: float = eqx.field(static=True, default=1e-3)
    """Weight of the squared logits in the actor's loss, which keeps them small enough for exploration."""
    max_grad_norm: float = eqx.field(static=True, default=10.0)
    """Clip the actor's and the critic's gradient each to this global norm."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training; 0 is greedy."""
    width: int = eqx.field(static=True, default=64)
    """Width of both hidden layers of actor and critic."""
    separate: int | None = eqx.field(static=True, default=None)
    """An actor and a critic for each of this many agents, which are the task's slots in training, as Lowe et al. have
    them; slot 0's is evaluated. None: all agents share one actor and one critic."""
    sides: Sides = Sides()
    """Whom joint training acts for, and who sees whom. The critic sees everybody."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "learning_rate", "target_rate", "max_grad_norm", "width")
        check_positive(self, "max_agents", "separate")
        check_in(self, 0.0, 1.0, "discount", "target_rate")
        check_not_negative(self, "logit_weight", "temperature")
        self.replay.steps(self.envs, self.update_every)

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        max_agents = fixed_size("MADDPG", self.max_agents, spec)
        model = new_model(key, spec, max_agents=max_agents, width=self.width, separate=self.separate)
        opt_state = tuple(self.optimiser.init(eqx.filter(part, eqx.is_array)) for part in (model.actor, model.critic))
        return TrainState(model, model, opt_state, jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """One for the actor and one for the critic."""
        return optax.flatten(optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.adam(self.learning_rate)))

    def policy(self, model: MADDPGModel, progress: Float[Array, ""]) -> MADDPGPolicy:
        del progress
        return MADDPGPolicy(model, jnp.ones(()), self.mask_illegal, self.sides)

    def frozen(self, model: MADDPGModel) -> MADDPGPolicy:
        return MADDPGPolicy(model.of_agent(0), jnp.asarray(self.temperature), self.mask_illegal, self.sides)

    def context(self, state: TrainState, slots: int) -> Transition:
        if self.separate not in (None, slots):
            raise UserError(
                f"MADDPG has networks of their own for {self.separate} agents and the task has {slots} slots. Train it "
                f"with --algorithm.separate {slots}."
            )
        return self.replay.start(state.model.spec, self.envs, self.update_every)

    def update(
        self, key: Key[Array, ""], state: TrainState, context: Transition, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, Transition, Metrics]:
        del progress
        k_sample, k_loss = jax.random.split(key)
        kept = self.replay.push(context, chunk, state.updates)
        steps = (state.updates + 1) * self.update_every
        batch = self.replay.sample(k_sample, kept, steps, chunk.truth.exists.shape[-1])
        loss = jax.value_and_grad(self.loss, argnums=1, has_aux=True)
        (_, metrics), gradient = loss(k_loss, state.model, state.target, batch)
        learns = steps * self.envs >= self.replay.warm_up
        networks, gradients = ((tree.actor, tree.critic) for tree in (state.model, gradient))
        gradients = jax.tree.map(lambda leaf: learns * leaf, gradients)
        changes, opt_state = zip(*map(self.optimiser.update, gradients, state.opt_state), strict=True)
        model = eqx.tree_at(lambda m: (m.actor, m.critic), state.model, eqx.apply_updates(networks, changes))
        target = jax.tree.map(lambda new, old: old + self.target_rate * (new - old), model, state.target)
        norms = {"actor_gradient_norm": optax.tree.norm(gradients[0]), "gradient_norm": optax.tree.norm(gradients[1])}
        return TrainState(model, target, opt_state, state.updates + 1), kept, metrics | norms

    def loss(
        self, key: Key[Array, ""], model: MADDPGModel, target: MADDPGModel, batch: Transition
    ) -> tuple[Float[Array, ""], Metrics]:
        """The critic's loss (Q(s, a) - y)^2, y = r + gamma Q'(s', a'), plus the actor's - Q(s, a_i ~ actor, a_-i).

        Each shapes its own network only. The actor of agent i is scored with a new draw of its own action and the
        others' actions as they were.
        """
        k_rotation, k_next, k_action = jax.random.split(key, 3)
        rotations = jax.random.uniform(k_rotation, batch.action.shape[:1])
        before, after, slots = batch.before, batch.after, batch.action.shape[-1]
        here, there = (side.exists & self.sides.trained(slots) for side in (before, after))
        (seen, team), (next_seen, next_team) = (self.arrange(model, side, rotations) for side in (before, after))

        next_logits = masked_logits(target.logits(next_seen, after.shared), after.legal, self.mask_illegal)
        next_actions = arrange_actions(model, gumbel_softmax(k_next, next_logits), there, rotations)
        next_value = target.values(next_team, after.shared, next_actions)
        # Those who are gone afterwards expect nothing, whatever their row says.
        y = batch.reward + self.discount * batch.discount * jnp.where(batch.stays, next_value, 0)

        actions = arrange_actions(model, jax.nn.one_hot(batch.action, model.spec.actions), here, rotations)
        value = model.values(team, before.shared, actions)
        value_loss = masked_mean((value - jax.lax.stop_gradient(y)) ** 2, here)

        logits = masked_logits(model.logits(seen, before.shared), before.legal, self.mask_illegal)
        own_redrawn = jnp.concatenate([gumbel_softmax(k_action, logits), actions[..., model.spec.actions :]], -1)
        redrawn_value = jax.lax.stop_gradient(model).values(team, before.shared, own_redrawn)
        considered = before.legal | (not self.mask_illegal)
        penalty = masked_mean((jnp.where(considered, logits, 0) ** 2).mean(-1), here)
        policy_loss = -masked_mean(redrawn_value, here) + self.logit_weight * penalty
        return value_loss + policy_loss, {
            "value_loss": value_loss,
            "policy_loss": policy_loss,
            "action_value": masked_mean(value, here),
            "entropy": masked_mean(entropy(logits), here),
        }

    def arrange(
        self, model: MADDPGModel, team: AgentState, rotations: Float[Array, "batch"]
    ) -> tuple[Float[Array, "batch slots list"], Float[Array, "batch slots list"]]:
        """Everybody's list of agents for its actor, which knows whom it sees, and for its critic, which knows all."""
        hidden = jnp.asarray(self.sides.hidden(team.exists.shape[-1]))
        seen, everybody = (arrange_agents(model, team, rotations, each) for each in (hidden, jnp.zeros_like(hidden)))
        return seen, everybody


def gumbel_softmax(key: Key[Array, ""], logits: Float[Array, "*batch actions"]) -> Float[Array, "*batch actions"]:
    """A one-hot draw from softmax(logits) that gradients pass through."""
    return straight_through(logits + gumbel_noise(key, logits.shape))


def arrange_agents(
    model: MADDPGModel, team: AgentState, rotations: Float[Array, "batch"], hidden: Bool[Array, "slots slots"]
) -> Float[Array, "batch slots list"]:
    """Everybody's list of the agents of its team; ``hidden[i, j]`` says that i's list is without j."""
    rows = jnp.where(team.exists[..., None], team.own, ABSENT)
    return arrange_for_everybody(model, rows, rotations, ABSENT, hidden)


def arrange_actions(
    model: MADDPGModel,
    actions: Float[Array, "batch slots actions"],
    exists: Bool[Array, "batch slots"],
    rotations: Float[Array, "batch"],
) -> Float[Array, "batch slots list"]:
    """Everybody's list of the joint action of its team; the action of nobody is all zeros."""
    nobody = jnp.zeros((actions.shape[1], actions.shape[1]), bool)
    return arrange_for_everybody(model, jnp.where(exists[..., None], actions, 0), rotations, 0.0, nobody)


def arrange_for_everybody(
    model: MADDPGModel,
    rows: Float[Array, "batch slots size"],
    rotations: Float[Array, "batch"],
    empty: float,
    hidden: Bool[Array, "slots slots"],
) -> Float[Array, "batch slots list"]:
    """One list per agent of each team, itself first, and ``empty`` in place of those who are hidden from it."""

    def one_team(rows: Float[Array, "slots size"], rotation: Float[Array, ""]) -> Float[Array, "slots list"]:
        def one_list(viewer: Int[Array, ""], unseen: Bool[Array, "slots"]) -> Float[Array, "list"]:
            seen = jnp.where(unseen[:, None], empty, rows)
            return model.arrange(viewer_first(seen, viewer), rotation, empty)

        return jax.vmap(one_list)(jnp.arange(len(rows)), hidden)

    return jax.vmap(one_team)(rows, rotations)
