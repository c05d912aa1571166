"""A gated recurrent unit (Cho et al., 2014)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from openteam.models.layers import Linear


class GRU(eqx.Module):
    """h' = (1 - u) tanh(x W + b + r (h V + c)) + u h, with gates r and u that are sigmoids of both x and h."""

    input: Linear
    memory: Linear

    def __init__(self, key: Key[Array, ""], sizes: int | tuple[int, ...], width: int):
        k_input, k_memory = jax.random.split(key)
        self.input = Linear(k_input, sizes, 3 * width)
        self.memory = Linear(k_memory, width, 3 * width)

    @property
    def width(self) -> int:
        return len(self.memory.weights[0])

    def __call__(self, hidden: Float[Array, "rows width"], *inputs: Float[Array, "..."]) -> Float[Array, "rows width"]:
        new, old = self.input(*inputs), self.memory(hidden)
        (new_reset, new_update, new), (old_reset, old_update, old) = (jnp.split(x, 3, -1) for x in (new, old))
        reset, update = jax.nn.sigmoid(new_reset + old_reset), jax.nn.sigmoid(new_update + old_update)
        candidate = jnp.tanh(new + reset * old)
        return (1 - update) * candidate + update * hidden
