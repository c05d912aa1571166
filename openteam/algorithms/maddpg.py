"""Multi-agent DDPG (Lowe et al., 2017) for open teams and discrete actions: trained jointly, then one plays alone.

An actor that sees the team from its own side, and a critic that also knows what everybody does. Both are networks for a
fixed number of places. All agents share them; who is meant is told by standing first.
"""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.replay import Side, Transition, kept_steps, mean_over, push, sample, start_replay
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.policy import AbstractPolicy
from openteam.core.random import key as make_key
from openteam.core.types import Chunk, Observation, Spec
from openteam.errors import UserError, check_positive
from openteam.models.layers import MLP
from openteam.models.policy import draw_action
from openteam.views.full import viewer_first

ABSENT = -1.0


class MADDPGModel(eqx.Module):
    """The actor decides from one agent's side; the critic says what that is worth to it, knowing all actions."""

    actor: MLP
    critic: MLP
    places: int = eqx.field(static=True)
    spec: Spec = eqx.field(static=True)

    def __init__(self, key: Key[Array, ""], spec: Spec, *, places: int, width: int):
        k_actor, k_critic = jax.random.split(key)
        seen = (places * spec.agent_features, spec.shared_features)
        self.actor = MLP(k_actor, seen, width, width, spec.actions)
        self.critic = MLP(k_critic, (*seen, places * spec.actions), width, width, 1)
        self.places = places
        self.spec = spec

    def seat(
        self, rows: Float[Array, "slots size"], turn: Float[Array, ""], empty: float
    ) -> Float[Array, "places_times_size"]:
        """One agent's side of the team as a list of fixed length: itself first, the others moved on by a random number.

        Training fills fewer places than a larger team. Without the move the last ones would never be trained.
        """
        if len(rows) > self.places:
            raise UserError(
                f"This MADDPG has {self.places} places and cannot look at a team of {len(rows)}. Train it with "
                f"--algorithm.places {len(rows)}."
            )
        others = jnp.pad(rows[1:], ((0, self.places - len(rows)), (0, 0)), constant_values=empty)
        by = jnp.floor(turn * len(others)).astype(jnp.int32)
        return jnp.concatenate([rows[:1], jnp.roll(others, by, axis=0)]).reshape(-1)


class MADDPGPolicy(AbstractPolicy):
    """Samples from the actor's logits, which is all the exploration there is."""

    model: MADDPGModel
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    mask_illegal: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> tuple[()]:
        del slots
        return ()

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del fresh
        k_turn, k_draw = jax.random.split(key)
        seated = self.model.seat(
            jnp.where(obs.visible[:, None], obs.agents, ABSENT), jax.random.uniform(k_turn), ABSENT
        )
        logits = decide(self.model, seated, obs.shared, considered(obs.legal, self.mask_illegal))
        return draw_action(k_draw, logits, self.temperature), memory


class MADDPG(AbstractLearner):
    """Multi-agent DDPG with one actor and one critic for all, straight-through Gumbel-softmax, without memory."""

    joint: ClassVar[bool] = True
    places: int | None = eqx.field(static=True, default=None)
    """Most agents it can ever look at, itself included; None is as many as the task's largest split has."""
    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=6)
    """Steps of each environment between two updates."""
    replay: int = eqx.field(static=True, default=50_000)
    """Transitions kept, each of all slots; rounded down to whole chunks of envs times update_every."""
    batch: int = eqx.field(static=True, default=1024)
    """Transitions, each of all slots, that an update learns from."""
    warm_up: int = eqx.field(static=True, default=10_000)
    """Steps before the first change of the networks."""
    learning_rate: float = eqx.field(static=True, default=5e-4)
    """Adam's step size, of actor and critic."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    target_rate: float = eqx.field(static=True, default=0.01)
    """Part of the way the target networks move towards actor and critic at every update."""
    logit_weight: float = eqx.field(static=True, default=1e-3)
    """Weight of the squared logits in the actor's loss, which keeps them small enough for chance to matter."""
    max_grad_norm: float = eqx.field(static=True, default=10.0)
    """Clip the actor's and the critic's gradient each to this global norm."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training; 0 is greedy."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect."""
    width: int = eqx.field(static=True, default=64)
    """Width of both hidden layers of actor and critic."""

    def __check_init__(self) -> None:
        check_positive(self, "envs", "update_every", "replay", "batch", "learning_rate", "max_grad_norm", "width")
        if self.places is not None and self.places < 1:
            raise UserError(f"MADDPG needs at least 1 place; got {self.places}.")
        if not (0 <= self.discount <= 1 and 0 < self.target_rate <= 1):
            raise UserError(
                f"MADDPG needs 0 <= discount <= 1 and 0 < target_rate <= 1; got {self.discount}, {self.target_rate}."
            )
        kept_steps(self.replay, self.envs, self.update_every)

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        places = spec.most_agents if self.places is None else self.places
        if places is None:
            raise UserError("MADDPG must know how many agents there can be: set places, as this spec does not say.")
        model = MADDPGModel(key, spec, places=places, width=self.width)
        opt_state = tuple(self.optimiser.init(eqx.filter(part, eqx.is_array)) for part in (model.actor, model.critic))
        return TrainState(model, model, opt_state, jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Of the actor and of the critic alike."""
        return optax.flatten(optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.adam(self.learning_rate)))

    def policy(self, model: MADDPGModel, progress: Float[Array, ""]) -> MADDPGPolicy:
        del progress
        return MADDPGPolicy(model, jnp.ones(()), self.mask_illegal)

    def frozen(self, model: MADDPGModel) -> MADDPGPolicy:
        return MADDPGPolicy(model, jnp.asarray(self.temperature), self.mask_illegal)

    def context(self, state: TrainState, slots: int) -> Transition:
        """The replay of one row."""
        del slots
        return start_replay(state.model.spec, kept_steps(self.replay, self.envs, self.update_every))

    def update(
        self, state: TrainState, context: Transition, chunk: Chunk, progress: Float[Array, ""]
    ) -> tuple[TrainState, Transition, Metrics]:
        del progress
        replay = push(context, chunk, state.updates)
        seen = (state.updates + 1) * self.update_every  # steps of each environment
        # Which experience is learned from need not differ between runs, only between updates.
        k_sample, k_loss = jax.random.split(jax.random.fold_in(make_key(0), state.updates))
        batch = sample(k_sample, replay, seen, self.batch, chunk.truth.exists.shape[-1])
        learns = (seen * self.envs >= self.warm_up).astype(jnp.float32)

        def loss(model: MADDPGModel) -> tuple[Float[Array, ""], Metrics]:
            total, metrics = self.loss(model, state.target, batch, k_loss)
            return learns * total, metrics

        (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(state.model)
        actor_state, critic_state = state.opt_state
        actor_step, actor_state = self.optimiser.update(gradient.actor, actor_state)
        critic_step, critic_state = self.optimiser.update(gradient.critic, critic_state)
        learned = eqx.apply_updates((state.model.actor, state.model.critic), (actor_step, critic_step))
        model = eqx.tree_at(lambda m: (m.actor, m.critic), state.model, learned)
        target = jax.tree.map(lambda new, old: old + self.target_rate * (new - old), model, state.target)
        metrics |= {
            "actor_gradient_norm": optax.tree.norm(gradient.actor),
            "gradient_norm": optax.tree.norm(gradient.critic),
        }
        return TrainState(model, target, (actor_state, critic_state), state.updates + 1), replay, metrics

    def loss(
        self, model: MADDPGModel, target: MADDPGModel, batch: Transition, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Metrics]:
        """The critic's squared error and the actor's, which goes up the critic's slope; each its own network only.

        The actor of agent i is scored with its own action drawn anew and the others' as they were.
        """
        k_turn, k_next, k_action = jax.random.split(key, 3)
        turns = jax.random.uniform(k_turn, (self.batch,))
        before, after = seat_everybody(model, batch.before, turns), seat_everybody(model, batch.after, turns)

        next_options = considered(batch.after.legal, self.mask_illegal)
        next_logits = decide(target, after, batch.after.shared, next_options)
        next_actions = seat_actions(model, straight_through(k_next, next_logits), batch.after.exists, turns)
        next_value = target.critic(after, batch.after.shared, next_actions)[..., 0]
        # Of those who are absent afterwards nothing is expected, whatever their row says.
        y = batch.reward + self.discount * batch.discount * jnp.where(batch.stays, next_value, 0)

        here = batch.before.exists
        taken = jax.nn.one_hot(batch.action, model.spec.actions)
        taken = seat_actions(model, taken, here, turns)
        value = model.critic(before, batch.before.shared, taken)[..., 0]
        value_loss = mean_over((value - jax.lax.stop_gradient(y)) ** 2, here)

        options = considered(batch.before.legal, self.mask_illegal)
        logits = decide(model, before, batch.before.shared, options)
        chosen = jnp.concatenate([straight_through(k_action, logits), taken[..., model.spec.actions :]], -1)
        critic = jax.lax.stop_gradient(model.critic)
        worth = mean_over(critic(before, batch.before.shared, chosen)[..., 0], here)
        penalty = mean_over((jnp.where(options, logits, 0) ** 2).mean(-1), here)
        policy_loss = -worth + self.logit_weight * penalty
        entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1)
        return value_loss + policy_loss, {
            "value_loss": value_loss,
            "policy_loss": policy_loss,
            "action_value": mean_over(value, here),
            "entropy": mean_over(entropy, here),
        }


def considered(legal: Bool[Array, "*batch actions"], mask_illegal: bool) -> Bool[Array, "*batch actions"]:
    """Which actions an agent chooses from."""
    return legal | (not mask_illegal)


def decide(
    model: MADDPGModel,
    seated: Float[Array, "*batch seen"],
    shared: Float[Array, "*batch shared"],
    options: Bool[Array, "*batch actions"],
) -> Float[Array, "*batch actions"]:
    """The actor's logits, very low for actions that are no options."""
    return jnp.where(options, model.actor(seated, shared), -1e9)


def seat_everybody(model: MADDPGModel, team: Side, turns: Float[Array, "batch"]) -> Float[Array, "batch slots seen"]:
    """The rows of all agents from everybody's side."""
    rows = jnp.where(team.exists[..., None], team.own, ABSENT)
    return from_every_side(model, rows, turns, ABSENT)


def seat_actions(
    model: MADDPGModel,
    actions: Float[Array, "batch slots actions"],
    exists: Bool[Array, "batch slots"],
    turns: Float[Array, "batch"],
) -> Float[Array, "batch slots seen"]:
    """The joint action from everybody's side; nobody's action is all zeros."""
    return from_every_side(model, jnp.where(exists[..., None], actions, 0), turns, 0.0)


def from_every_side(
    model: MADDPGModel, rows: Float[Array, "batch slots size"], turns: Float[Array, "batch"], empty: float
) -> Float[Array, "batch slots seen"]:
    """The rows of each team, seated once for each of its agents."""

    def one_team(rows: Float[Array, "slots size"], turn: Float[Array, ""]) -> Float[Array, "slots seen"]:
        return jax.vmap(lambda viewer: model.seat(viewer_first(rows, viewer), turn, empty))(jnp.arange(len(rows)))

    return jax.vmap(one_team)(rows, turns)


def straight_through(key: Key[Array, ""], logits: Float[Array, "*batch actions"]) -> Float[Array, "*batch actions"]:
    """A draw from softmax(logits) as a one-hot vector, whose gradient is that of the Gumbel-softmax it came from."""
    uniform = jax.random.uniform(key, logits.shape, minval=1e-7)
    soft = jax.nn.softmax(logits - jnp.log(-jnp.log(uniform)))
    hard = jax.nn.one_hot(jnp.argmax(soft, -1), logits.shape[-1])
    return soft + jax.lax.stop_gradient(hard - soft)
