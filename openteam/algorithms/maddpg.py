"""Multi-agent DDPG (Lowe et al., 2017) for open teams and discrete actions: trained jointly, then one plays alone.

An actor that sees the team from its own side, and a critic that also knows what everybody does. Both are networks for a
fixed number of places. All agents share them; who is meant is told by standing first.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.algorithms.replay import Side, Transition, mean_over
from openteam.algorithms.replay_learning import AbstractReplayLearner
from openteam.core.learner import Metrics, TrainState
from openteam.core.policy import AbstractMemoryless
from openteam.core.types import Observation, Spec
from openteam.core.view import viewer_first
from openteam.errors import UserError, check_positive
from openteam.models.layers import MLP
from openteam.models.places import check_places, count_places
from openteam.models.policy import draw_action

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


class MADDPGPolicy(AbstractMemoryless):
    """Samples from the actor's logits, which is all the exploration there is."""

    model: MADDPGModel
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    mask_illegal: bool = eqx.field(static=True, default=False)

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


class MADDPG(AbstractReplayLearner):
    """Multi-agent DDPG with one actor and one critic for all, straight-through Gumbel-softmax, without memory."""

    chance: ClassVar[bool] = True
    places: int | None = eqx.field(static=True, default=None)
    """Most agents it can ever look at, itself included; None is as many as the task's largest split has."""
    update_every: int = eqx.field(static=True, default=6)
    batch: int = eqx.field(static=True, default=1024)
    warm_up: int = eqx.field(static=True, default=10_000)
    learning_rate: float = eqx.field(static=True, default=5e-4)
    """Adam's step size, of actor and critic."""
    target_rate: float = eqx.field(static=True, default=0.01)
    """Part of the way the target networks move towards actor and critic at every update."""
    logit_weight: float = eqx.field(static=True, default=1e-3)
    """Weight of the squared logits in the actor's loss, which keeps them small enough for chance to matter."""
    max_grad_norm: float = eqx.field(static=True, default=10.0)
    """Clip the actor's and the critic's gradient each to this global norm."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training; 0 is greedy."""
    width: int = eqx.field(static=True, default=64)
    """Width of both hidden layers of actor and critic."""

    def __check_init__(self) -> None:
        check_positive(self, "max_grad_norm", "width")
        check_places(self)

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        model = MADDPGModel(key, spec, places=count_places(self, spec), width=self.width)
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

    def descend(self, state: TrainState, gradient: PyTree[Any]) -> tuple[MADDPGModel, PyTree[Any], Metrics]:
        actor_state, critic_state = state.opt_state
        actor_step, actor_state = self.optimiser.update(gradient.actor, actor_state)
        critic_step, critic_state = self.optimiser.update(gradient.critic, critic_state)
        learned = eqx.apply_updates((state.model.actor, state.model.critic), (actor_step, critic_step))
        model = eqx.tree_at(lambda m: (m.actor, m.critic), state.model, learned)
        norms = {
            "actor_gradient_norm": optax.tree.norm(gradient.actor),
            "gradient_norm": optax.tree.norm(gradient.critic),
        }
        return model, (actor_state, critic_state), norms

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
