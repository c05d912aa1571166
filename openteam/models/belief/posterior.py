"""What an encoder says: one representation, or a normal distribution of representations to draw from."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

Density = Literal["joint", "mean"]


class AbstractPosterior(eqx.Module):
    """Turns an encoder's numbers into weighted representations."""

    @abstractmethod
    def numbers(self, size: int) -> int:
        """How many numbers it needs for a representation of this size."""

    @abstractmethod
    def sample(
        self, key: Key[Array, ""], encoded: Float[Array, "slots numbers"]
    ) -> tuple[Float[Array, "samples slots size"], Float[Array, "samples"]]:
        """Representations and the logarithm of how much each counts."""

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
    """q(z | H) = N(mu, sigma^2), of which some z are drawn and weighted by density: a variational autoencoder."""

    samples: int = eqx.field(static=True, default=10)
    density: Density = eqx.field(static=True, default="joint")

    def numbers(self, size: int) -> int:
        return 2 * size

    def sample(
        self, key: Key[Array, ""], encoded: Float[Array, "slots numbers"]
    ) -> tuple[Float[Array, "samples slots size"], Float[Array, "samples"]]:
        mean, spread = normal(encoded)
        noise = jax.random.normal(key, (self.samples, *mean.shape))
        # log q(z_k) but for what all samples share
        log_density = -0.5 * noise**2
        over = log_density.sum((1, 2)) if self.density == "joint" else log_density.mean((1, 2))
        return mean + spread * noise, over

    def divergence(self, encoded: Float[Array, "*batch numbers"]) -> Float[Array, "*batch"]:
        """KL(N(mu, sigma^2) || N(0, 1)), the mean over dimensions."""
        mean, spread = normal(encoded)
        return (0.5 * (mean**2 + spread**2 - 1) - jnp.log(spread)).mean(-1)


def normal(
    encoded: Float[Array, "*batch numbers"],
) -> tuple[Float[Array, "*batch size"], Float[Array, "*batch size"]]:
    """Mean and spread."""
    mean, spread = jnp.split(encoded, 2, -1)
    return mean, jax.nn.softplus(spread) + 1e-3
