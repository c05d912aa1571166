"""From what is believed of every agent back to what could be seen of it, or what is true."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.core.types import Spec
from openteam.models.belief.hypotheses import Decoded
from openteam.models.layers import MLP

FLOOR = 0.1  # the smallest spread, in units of features: without it, what is certain would be worth infinitely much


class Decoder(eqx.Module):
    """Normal distributions of [x_j, flag_j] for every agent, and of u, from the sum of what is known of everybody."""

    trunk: MLP
    rows: MLP
    shared: MLP
    learned_spread: bool = eqx.field(static=True)

    def __init__(self, key: Key[Array, ""], size: int, spec: Spec, *, width: int, learned_spread: bool):
        k_trunk, k_rows, k_shared = jax.random.split(key, 3)
        numbers = 2 if learned_spread else 1
        self.trunk = MLP(k_trunk, (size, 1), width, width)
        self.rows = MLP(k_rows, width, width, numbers * (spec.agent_features + 1))
        self.shared = MLP(k_shared, width, width, numbers * spec.shared_features)
        self.learned_spread = learned_spread

    def __call__(self, representation: Float[Array, "slots size"], exists: Float[Array, "slots"]) -> Decoded:
        known = jax.nn.relu(self.trunk(representation, exists[:, None]))
        return Decoded(*self.normal(self.rows(known)), *self.normal(self.shared(exists @ known)))

    def normal(
        self, numbers: Float[Array, "*batch numbers"]
    ) -> tuple[Float[Array, "*batch feat"], Float[Array, "*batch feat"]]:
        """Mean and spread; the paper's squared error is the case of a spread of 1."""
        if not self.learned_spread:
            return numbers, jnp.ones_like(numbers)
        mean, spread = jnp.split(numbers, 2, -1)
        return mean, jax.nn.softplus(spread) + FLOOR


def log_normal(
    x: Float[Array, "*batch"], mean: Float[Array, "*batch"], spread: Float[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """log N(x; mean, spread^2)."""
    return -0.5 * ((x - mean) / spread) ** 2 - jnp.log(spread) - 0.5 * jnp.log(2 * jnp.pi)


def log_likelihood(
    decoded: Decoded,
    rows: Float[Array, "*batch slots row"],
    shared: Float[Array, "*batch shared"],
    there: Bool[Array, "*batch slots"] | None = None,
) -> Float[Array, "*batch"]:
    """Of what is to be found: the mean over rows and their features, plus the mean over u.

    If it is said who is there, only the flag of others counts: they have no features.
    """
    counts = jnp.ones(rows.shape, bool) if there is None else there[..., None] | is_flag(rows.shape[-1])
    of_rows = log_normal(rows, decoded.rows, decoded.rows_spread).mean((-1, -2), where=counts)
    if not shared.shape[-1]:
        return of_rows
    return of_rows + log_normal(shared, decoded.shared, decoded.shared_spread).mean(-1)


def is_flag(size: int) -> Bool[Array, "row"]:
    """Which number of a row is its flag: the last."""
    return jnp.arange(size) == size - 1
