"""From the representation of every agent back to its features, as seen or as they truly are."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.core.types import Spec
from openteam.models.belief.gaussian import normal_log_density
from openteam.models.belief.hypotheses import Decoded
from openteam.models.layers import MLP

FLOOR = 0.1  # the smallest spread, in units of features: without it the likelihood of a certain feature has no bound


class Decoder(eqx.Module):
    """Normal distributions of [x_j, flag_j] for every agent, and of u, from the sum over those who exist."""

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
        hidden = jax.nn.relu(self.trunk(representation, exists[:, None]))
        return Decoded(*self.mean_and_spread(self.rows(hidden)), *self.mean_and_spread(self.shared(exists @ hidden)))

    def mean_and_spread(
        self, numbers: Float[Array, "*batch numbers"]
    ) -> tuple[Float[Array, "*batch feat"], Float[Array, "*batch feat"]]:
        """The paper's squared error is the case of a spread of 1."""
        if not self.learned_spread:
            return numbers, jnp.ones_like(numbers)
        mean, spread = jnp.split(numbers, 2, -1)
        return mean, jax.nn.softplus(spread) + FLOOR


def log_likelihood(
    decoded: Decoded,
    rows: Float[Array, "*batch slots row"],
    shared: Float[Array, "*batch shared"],
    exists: Bool[Array, "*batch slots"] | None = None,
) -> Float[Array, "*batch"]:
    """Mean log density over rows and their features, plus the mean over u.

    Given ``exists``, only the flag counts of those who do not exist: they have no features.
    """
    counts = jnp.ones(rows.shape, bool) if exists is None else exists[..., None] | is_flag(rows.shape[-1])
    of_rows = normal_log_density(rows, decoded.rows, decoded.rows_spread).mean((-1, -2), where=counts)
    if not shared.shape[-1]:
        return of_rows
    return of_rows + normal_log_density(shared, decoded.shared, decoded.shared_spread).mean(-1)


def is_flag(size: int) -> Bool[Array, "row"]:
    """Which number of a row is its flag: the last."""
    return jnp.arange(size) == size - 1
