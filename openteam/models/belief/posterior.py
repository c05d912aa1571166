"""What an encoder returns: one representation, or a normal distribution of representations to draw from."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

Reduction = Literal["sum", "mean"]


class AbstractPosterior(eqx.Module):
    """Turns an encoder's numbers into weighted representations."""

    @abstractmethod
    def numbers(self, size: int) -> int:
        """How many numbers it needs for a representation of this size."""

    @abstractmethod
    def sample(
        self, key: Key[Array, ""], encoded: Float[Array, "slots numbers"]
    ) -> tuple[Float[Array, "samples slots size"], Float[Array, "samples"]]:
        """Representations and the logarithm of each one's weight."""

    @abstractmethod
    def divergence(self, encoded: Float[Array, "*batch numbers"]) -> Float[Array, "*batch"] | None:
        """How far it is from the prior, per number of a representation; None if there is no prior."""


class Point(AbstractPosterior):
    """rho, the encoder's output itself: an autoencoder."""

    def numbers(self, size: int) -> int:
        return size

    def sample(
        self, key: Key[Array, ""], encoded: Float[Array, "slots numbers"]
    ) -> tuple[Float[Array, "1 slots size"], Float[Array, "1"]]:
        del key
        return encoded[None], jnp.zeros(1)

    def divergence(self, encoded: Float[Array, "*batch numbers"]) -> None:
        del encoded


class Gaussian(AbstractPosterior):
    """q(z | H) = N(mu, sigma^2): some z are drawn and weighted by their density. A variational autoencoder."""

    samples: int = eqx.field(static=True, default=10)
    density: Reduction = eqx.field(static=True, default="sum")

    def numbers(self, size: int) -> int:
        return 2 * size

    def sample(
        self, key: Key[Array, ""], encoded: Float[Array, "slots numbers"]
    ) -> tuple[Float[Array, "samples slots size"], Float[Array, "samples"]]:
        mean, spread = mean_and_spread(encoded)
        noise = jax.random.normal(key, (self.samples, *mean.shape))
        log_density = -0.5 * noise**2  # log q(z_k) up to what all samples have in common
        log_weight = log_density.sum((1, 2)) if self.density == "sum" else log_density.mean((1, 2))
        return mean + spread * noise, log_weight

    def divergence(self, encoded: Float[Array, "*batch numbers"]) -> Float[Array, "*batch"]:
        """KL(N(mu, sigma^2) || N(0, 1)), the mean over dimensions."""
        mean, spread = mean_and_spread(encoded)
        return (0.5 * (mean**2 + spread**2 - 1) - jnp.log(spread)).mean(-1)


def mean_and_spread(
    encoded: Float[Array, "*batch numbers"],
) -> tuple[Float[Array, "*batch size"], Float[Array, "*batch size"]]:
    """mu and sigma of what the encoder returned."""
    mean, spread = jnp.split(encoded, 2, -1)
    return mean, jax.nn.softplus(spread) + 1e-3
