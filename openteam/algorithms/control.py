"""How a value-based learner acts and what it learns towards: the only difference between GPL-Q and GPL-SPI."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.checked import AbstractChecked
from openteam.errors import UserError, check_not_negative


class Schedule(AbstractChecked):
    """Linear from ``first`` to ``last`` over the first ``fraction`` of the run, then constant."""

    first: float = eqx.field(static=True)
    """Value at the start."""
    last: float = eqx.field(static=True)
    """Value at the end."""
    fraction: float = eqx.field(static=True, default=0.75)
    """Part of the run after which the last value is reached."""

    def __check_init__(self) -> None:
        check_not_negative(self, "first", "last")
        if not 0 < self.fraction <= 1:
            raise UserError(f"A schedule's fraction must lie in (0, 1]; got {self.fraction}.")

    def __call__(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        return self.first + (self.last - self.first) * jnp.minimum(progress / self.fraction, 1)


def q_target(
    reward: Float[Array, "*batch"], discount: Float[Array, "*batch"], next_values: Float[Array, "*batch actions"]
) -> Float[Array, "*batch"]:
    """y = r + gamma max_a Qbar'(H', a) (paper, algorithm "GPL Training")."""
    return reward + discount * next_values.max(-1)


def spi_target(
    reward: Float[Array, "*batch"],
    discount: Float[Array, "*batch"],
    next_values: Float[Array, "*batch actions"],
    temperature: Float[Array, ""],
) -> Float[Array, "*batch"]:
    """y = r + gamma sum_a p(a | H') Qbar'(H', a), p = softmax(Qbar' / tau). Values of minus infinity have p = 0."""
    p = jax.nn.softmax(next_values / temperature)
    return reward + discount * jnp.where(p > 0, p * next_values, 0).sum(-1)


class AbstractControl(AbstractChecked):
    """A behaviour and the target value that belongs to it. An action of value minus infinity is never chosen."""

    @abstractmethod
    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        """An action while training."""

    @abstractmethod
    def probabilities(self, values: Float[Array, "actions"], progress: Float[Array, ""]) -> Float[Array, "actions"]:
        """The distribution of that action."""

    @abstractmethod
    def target(
        self,
        reward: Float[Array, "*batch"],
        discount: Float[Array, "*batch"],
        next_values: Float[Array, "*batch actions"],
        progress: Float[Array, ""],
    ) -> Float[Array, "*batch"]:
        """What a value should have been, given the target network's action values in the successor state."""

    def next_value(self, values: Float[Array, "*batch actions"], progress: Float[Array, ""]) -> Float[Array, "*batch"]:
        """The value of a successor state with these action values: its part of the target."""
        zero = jnp.zeros(values.shape[:-1])
        return self.target(zero, zero + 1, values, progress)


class QLearning(AbstractControl):
    """GPL-Q: epsilon-greedy behaviour."""

    epsilon: Schedule = Schedule(1.0, 0.05)
    """Probability of a uniformly random action."""

    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        u_explore, u_action = jax.random.uniform(key, (2,))
        legal = jnp.isfinite(values)
        ordinal = jnp.floor(u_action * legal.sum())
        explored = jnp.argmax(jnp.cumsum(legal) > ordinal)
        return jnp.where(u_explore < self.epsilon(progress), explored, jnp.argmax(values)).astype(jnp.int32)

    def probabilities(self, values: Float[Array, "actions"], progress: Float[Array, ""]) -> Float[Array, "actions"]:
        epsilon, legal = self.epsilon(progress), jnp.isfinite(values)
        return epsilon * legal / legal.sum() + (1 - epsilon) * greedy_probabilities(values)

    def target(
        self,
        reward: Float[Array, "*batch"],
        discount: Float[Array, "*batch"],
        next_values: Float[Array, "*batch actions"],
        progress: Float[Array, ""],
    ) -> Float[Array, "*batch"]:
        del progress
        return q_target(reward, discount, next_values)


class SoftPolicyIteration(AbstractControl):
    """GPL-SPI: p(a | H) = softmax(Qbar(H, .) / tau)(a) is the behaviour, and the target expects it."""

    temperature: Schedule = Schedule(1.0, 0.01)
    """tau: the higher, the closer to uniform."""

    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        return jax.random.categorical(key, values / self.temperature(progress)).astype(jnp.int32)

    def probabilities(self, values: Float[Array, "actions"], progress: Float[Array, ""]) -> Float[Array, "actions"]:
        return jax.nn.softmax(values / self.temperature(progress))

    def target(
        self,
        reward: Float[Array, "*batch"],
        discount: Float[Array, "*batch"],
        next_values: Float[Array, "*batch actions"],
        progress: Float[Array, ""],
    ) -> Float[Array, "*batch"]:
        return spi_target(reward, discount, next_values, self.temperature(progress))


def legal_values(
    values: Float[Array, "*batch actions"], legal: Bool[Array, "*batch actions"]
) -> Float[Array, "*batch actions"]:
    """Minus infinity where an action has no effect."""
    return jnp.where(legal, values, -jnp.inf)


def greedy_probabilities(values: Float[Array, "actions"]) -> Float[Array, "actions"]:
    """1 for the best action."""
    return jax.nn.one_hot(jnp.argmax(values), len(values))


def choose(
    key: Key[Array, ""],
    values: Float[Array, "actions"],
    legal: Bool[Array, "actions"] | None,
    control: AbstractControl | None,
    progress: Float[Array, ""],
) -> Int[Array, ""]:
    """The action of a learner with these values: by its control, or greedy without one; only legal ones if given."""
    values = values if legal is None else legal_values(values, legal)
    return jnp.argmax(values).astype(jnp.int32) if control is None else control.act(key, values, progress)


def choice_probabilities(
    values: Float[Array, "actions"],
    legal: Bool[Array, "actions"] | None,
    control: AbstractControl | None,
    progress: Float[Array, ""],
) -> Float[Array, "actions"]:
    """The distribution of what ``choose`` returns."""
    values = values if legal is None else legal_values(values, legal)
    return greedy_probabilities(values) if control is None else control.probabilities(values, progress)
