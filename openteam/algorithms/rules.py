"""How a value-based learner acts and what it learns towards: the only difference between GPL-Q and GPL-SPI."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.errors import UserError


class Schedule(eqx.Module):
    """Linear from ``first`` to ``last`` over the first ``fraction`` of the run, then constant."""

    first: float = eqx.field(static=True)
    """Value at the start."""
    last: float = eqx.field(static=True)
    """Value at the end."""
    fraction: float = eqx.field(static=True, default=0.75)
    """Part of the run after which the last value is reached."""

    def __check_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise UserError(f"A schedule's fraction must lie in (0, 1]; got {self.fraction}.")

    def __call__(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        return self.first + (self.last - self.first) * jnp.minimum(progress / self.fraction, 1)


class AbstractRule(eqx.Module):
    """A behaviour and the target value that belongs to it."""

    @abstractmethod
    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        """An action while training."""

    @abstractmethod
    def next_value(self, values: Float[Array, "*batch actions"], progress: Float[Array, ""]) -> Float[Array, "*batch"]:
        """The worth of a successor state, given the target network's action values there."""


class QLearning(AbstractRule):
    """y = r + gamma max_a Qbar(H', a), with epsilon-greedy behaviour."""

    epsilon: Schedule = Schedule(1.0, 0.05)
    """Probability of a uniformly random action."""

    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        u_explore, u_action = jax.random.uniform(key, (2,))
        legal = jnp.isfinite(values)
        ordinal = jnp.floor(u_action * legal.sum())
        explored = jnp.argmax(jnp.cumsum(legal) > ordinal)
        return jnp.where(u_explore < self.epsilon(progress), explored, jnp.argmax(values)).astype(jnp.int32)

    def next_value(self, values: Float[Array, "*batch actions"], progress: Float[Array, ""]) -> Float[Array, "*batch"]:
        del progress
        return values.max(-1)


class SoftPolicyIteration(AbstractRule):
    """y = r + gamma sum_a p(a | H') Qbar(H', a), p proportional to exp(Qbar / tau), which is also the behaviour."""

    temperature: Schedule = Schedule(1.0, 0.01)
    """tau, the width of the distribution over actions."""

    def act(self, key: Key[Array, ""], values: Float[Array, "actions"], progress: Float[Array, ""]) -> Int[Array, ""]:
        return jax.random.categorical(key, values / self.temperature(progress)).astype(jnp.int32)

    def next_value(self, values: Float[Array, "*batch actions"], progress: Float[Array, ""]) -> Float[Array, "*batch"]:
        probabilities = jax.nn.softmax(values / self.temperature(progress))
        return jnp.where(probabilities > 0, probabilities * values, 0).sum(-1)


def legal_values(
    values: Float[Array, "*batch actions"], legal: Bool[Array, "*batch actions"]
) -> Float[Array, "*batch actions"]:
    """Minus infinity where an action has no effect."""
    return jnp.where(legal, values, -jnp.inf)


def check_rates(learner: object, discount: float, target_rate: float) -> None:
    """Raise unless a learner can learn towards a target network with these."""
    if not (0 <= discount <= 1 and 0 < target_rate <= 1):
        raise UserError(
            f"{type(learner).__name__} needs 0 <= discount <= 1 and 0 < target_rate <= 1; got {discount}, "
            f"{target_rate}."
        )


def choose(
    key: Key[Array, ""],
    values: Float[Array, "actions"],
    legal: Bool[Array, "actions"] | None,
    rule: AbstractRule | None,
    progress: Float[Array, ""],
) -> Int[Array, ""]:
    """What a learner does on these values: by its rule, or greedily without one; given ``legal``, among legal ones."""
    values = values if legal is None else legal_values(values, legal)
    return jnp.argmax(values).astype(jnp.int32) if rule is None else rule.act(key, values, progress)
