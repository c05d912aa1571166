"""Deep Variational Reinforcement Learning (Igl et al., 2018): an actor-critic on the belief of a particle filter.

A single agent, to whom its team is part of a world that it sees in part (paper, appendix "Baselines").
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from openteam.algorithms.dvrl_model import DVRLModel, DVRLPolicy, FilterSteps
from openteam.algorithms.policy_gradient import entropy, log_probability, n_step_returns
from openteam.core.learner import AbstractLearner, Metrics, TrainState
from openteam.core.types import NO_ACTION, Chunk, Spec, over_chunk
from openteam.errors import UserError, check_in, check_not_negative, check_positive
from openteam.models.belief.filter import Filter, FilterState
from openteam.models.belief.resampling import effective_sample_size, log_mean_exp
from openteam.models.fixed_slots import FixedSlots, FlatObservation, fixed_size
from openteam.models.layers import MLP, Linear
from openteam.models.orthogonal import HIDDEN_GAIN, orthogonal
from openteam.models.policy import masked_logits


class DVRL(AbstractLearner):
    """Defaults are the paper's settings; whatever it does not say is as in the authors' code."""

    envs: int = eqx.field(static=True, default=16)
    """Environments that collect experience side by side."""
    update_every: int = eqx.field(static=True, default=5)
    """Steps of each environment between two updates."""
    gradient_steps: int | None = eqx.field(static=True, default=None)
    """How many steps gradients lead back, at least ``update_every``, which None stands for. The authors' code keeps its
    graph for five updates, 25 steps. Here steps of earlier chunks are repeated with today's parameters; their losses do
    not count again."""
    order_free: bool = eqx.field(static=True, default=False)
    """Encode the set of particles without regard to their order, which means nothing after resampling. The paper's
    fully connected network and the authors' GRU both depend on it."""
    learning_rate: float = eqx.field(static=True, default=1e-3)
    """RMSProp's step size."""
    discount: float = eqx.field(static=True, default=0.99)
    """gamma."""
    entropy: float = eqx.field(static=True, default=0.01)
    """Weight of the entropy bonus."""
    value_weight: float = eqx.field(static=True, default=0.5)
    """Weight of the critic's loss."""
    belief_weight: float = eqx.field(static=True, default=1e-4)
    """Weight of the filter's loss, the negative evidence lower bound: a sum over all that is seen. At 0.1, as in the
    authors' example, it leaves the policy nothing to learn from (docs/dvrl.md)."""
    max_grad_norm: float = eqx.field(static=True, default=0.5)
    """Clip the gradient to this global norm."""
    mask_illegal: bool = eqx.field(static=True, default=False)
    """Consider only actions that have an effect."""
    temperature: float = eqx.field(static=True, default=1.0)
    """How the frozen policy acts: 1 samples, as in training and in the authors' results; 0 is greedy."""
    max_agents: int | None = eqx.field(static=True, default=None)
    """The largest team it can be used in, the learner included; None takes the largest of the task's splits."""
    particles: int = eqx.field(static=True, default=10)
    """K, the number of particles."""
    observation_width: int = eqx.field(static=True, default=64)
    """Width of the layers that encode an observation, and of those that predict it."""
    action_size: int = eqx.field(static=True, default=16)
    """Length of an encoded action."""
    latent: int = eqx.field(static=True, default=100)
    """Length of z."""
    hidden: int = eqx.field(static=True, default=100)
    """Length of h, and width of all other layers."""

    def __check_init__(self) -> None:
        check_positive(
            self, "envs", "update_every", "learning_rate", "max_grad_norm", "particles", "observation_width",
            "action_size", "latent", "hidden", "max_agents", "gradient_steps",
        )  # fmt: skip
        if self.past < 0:
            raise UserError(
                f"DVRL's gradient_steps must be at least update_every = {self.update_every}; got {self.gradient_steps}."
            )
        check_in(self, 0.0, 1.0, "discount")
        check_not_negative(self, "entropy", "value_weight", "belief_weight", "temperature")

    @property
    def past(self) -> int:
        """How many steps before a chunk an update repeats."""
        return 0 if self.gradient_steps is None else self.gradient_steps - self.update_every

    @property
    def joint(self) -> bool:
        return False

    def init(self, key: Key[Array, ""], spec: Spec) -> TrainState:
        k_filter, k_encoder, k_actor, k_critic, k_layers, k_transition = jax.random.split(key, 6)
        flat = FlatObservation(FixedSlots(fixed_size("DVRL", self.max_agents, spec)))
        particle_filter = Filter(
            k_filter, flat.size(spec), spec.actions, particles=self.particles, latent=self.latent, hidden=self.hidden,
            observation_width=self.observation_width, action_size=self.action_size,
        )  # fmt: skip
        inputs = (1 if self.order_free else self.particles) * (2 * self.hidden + 1)
        encoder = MLP(k_encoder, inputs, self.hidden, self.hidden)
        heads = Linear(k_actor, self.hidden, spec.actions), Linear(k_critic, self.hidden, 1)
        model = DVRLModel(flat, particle_filter, encoder, *heads, spec.time_limit_terminates, self.order_free)
        model = orthogonal(k_layers, model, HIDDEN_GAIN)
        transition = orthogonal(k_transition, model.filter.transition, 1.0)
        model = eqx.tree_at(lambda m: m.filter.transition, model, transition)
        return TrainState(model, (), self.optimiser.init(eqx.filter(model, eqx.is_array)), jnp.zeros((), jnp.int32))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(self.max_grad_norm)
        return optax.flatten(
            optax.chain(clip, optax.rmsprop(self.learning_rate, decay=0.99, eps=1e-5, eps_in_sqrt=False))
        )

    def policy(self, model: DVRLModel, progress: Float[Array, ""]) -> DVRLPolicy:
        del progress
        return DVRLPolicy(model, jnp.ones(()), jnp.asarray(self.mask_illegal))

    def frozen(self, model: DVRLModel) -> DVRLPolicy:
        return DVRLPolicy(model, jnp.asarray(self.temperature), jnp.asarray(self.mask_illegal))

    def context(self, state: TrainState, slots: int) -> FilterSteps | tuple[()]:
        """The steps before a chunk that gradients lead back to; before the first, starts of episodes without a view."""
        del slots
        if not self.past:
            return ()
        before, noise = state.model.filter.start()
        inputs = len(state.model.filter.observation.layers[0].weights[0])
        blank = FilterSteps(before, jnp.zeros(inputs), jnp.asarray(NO_ACTION), jnp.ones((), bool), noise)
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.past, *leaf.shape)), blank)

    def update(
        self,
        key: Key[Array, ""],
        state: TrainState,
        context: FilterSteps | tuple[()],
        chunk: Chunk,
        progress: Float[Array, ""],
    ) -> tuple[TrainState, FilterSteps | tuple[()], Metrics]:
        del progress
        steps = with_past(context, recorded_steps(state.model, chunk))
        after, next_value = chunk.next_timesteps, next_values(key, state.model, chunk)
        returns = n_step_returns(after.reward, self.discount * after.discount, after.ends, next_value)
        (_, metrics), gradient = jax.value_and_grad(self.loss, has_aux=True)(state.model, steps, chunk, returns)
        step, opt_state = self.optimiser.update(gradient, state.opt_state, state.model)
        model: DVRLModel = eqx.apply_updates(state.model, step)
        metrics |= {"gradient_norm": optax.tree.norm(gradient)}
        if self.past:
            context = jax.tree.map(lambda leaf: jnp.swapaxes(leaf[-self.past :], 0, 1), steps)
        return TrainState(model, (), opt_state, state.updates + 1), context, metrics

    def loss(
        self, model: DVRLModel, steps: FilterSteps, chunk: Chunk, returns: Float[Array, "time envs"]
    ) -> tuple[Float[Array, ""], Metrics]:
        """- (R - V) log p(a) + w_value (R - V)^2 - w_entropy H - w_belief log((1 / K) sum_k w_k), in the mean.

        R - V is a constant in the first term. The last is the evidence lower bound. Of the filter's steps, the last are
        those of the chunk.
        """
        filtered, latent = jax.tree.map(lambda leaf: leaf[-len(returns) :], repeat_filter(model, steps))
        belief = over_chunk(model.belief)(filtered, latent)
        logits = masked_logits(model.actor(belief), chunk.timesteps.view.obs.legal, self.mask_illegal)
        td_error = returns - model.critic(belief)[..., 0]
        likelihood = over_chunk(log_probability)(logits, chunk.actions)
        policy_loss = -(jax.lax.stop_gradient(td_error) * likelihood).mean()
        value_loss = (td_error**2).mean()
        mean_entropy = entropy(logits).mean()
        belief_loss = -over_chunk(log_mean_exp)(filtered.log_weight).mean()
        loss = policy_loss + self.value_weight * value_loss - self.entropy * mean_entropy
        return loss + self.belief_weight * belief_loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": mean_entropy,
            "belief_loss": belief_loss,
            "effective_particles": over_chunk(effective_sample_size)(filtered.log_weight).mean(),
        }


def next_values(key: Key[Array, ""], model: DVRLModel, chunk: Chunk) -> Float[Array, "time envs"]:
    """V where each action led, with noise of its own.

    If time limits are terminal, returns need the last step's alone; the others are 0.
    """
    steps = slice(-1 if model.time_limit_terminates else None, None)
    memory, view = jax.tree.map(lambda leaf: leaf[steps], (chunk.memory, chunk.next_timesteps.final_view))
    noise = over_chunk(model.filter.draw)(jax.random.split(key, chunk.actions.shape)[steps])
    belief, _, _ = over_chunk(model.infer)(noise, memory, view)
    return jnp.zeros(chunk.actions.shape).at[steps].set(model.critic(belief)[..., 0])


def recorded_steps(model: DVRLModel, chunk: Chunk) -> FilterSteps:
    """The filter's steps of a rollout."""
    view, filtered = chunk.timesteps.view, chunk.memory.team.filter
    return FilterSteps(
        jax.tree.map(
            lambda first, later: jnp.concatenate([first[None], later[:-1]]), chunk.before.team.filter, filtered
        ),
        over_chunk(model.flat)(view.obs, chunk.memory.slots),
        view.previous_action,
        view.starts,
        chunk.memory.team.noise,
    )


def with_past(past: FilterSteps | tuple[()], steps: FilterSteps) -> FilterSteps:
    """Steps ``[time, envs, ...]``, preceded by those of the past, ``[envs, time, ...]``, if there are any."""
    if isinstance(past, tuple):
        return steps
    return jax.tree.map(lambda old, new: jnp.concatenate([jnp.swapaxes(old, 0, 1), new]), past, steps)


def repeat_filter(
    model: DVRLModel, steps: FilterSteps
) -> tuple[FilterState, Float[Array, "time envs particles hidden"]]:
    """The filter's steps with the noise they had, ready to be differentiated."""

    def step(state: FilterState, now: tuple) -> tuple[FilterState, tuple[FilterState, Array]]:
        after = jax.vmap(model.filter.step)(state, *now)
        return after[0], after

    first = jax.tree.map(lambda leaf: leaf[0], steps.before)
    return jax.lax.scan(step, first, (steps.seen, steps.previous_action, steps.starts, steps.noise))[1]
