"""Our layers with the numbers of a network of torch, which stores weights ``[out, in]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from openteam.models.layers import MLP
from openteam.models.lstm import squash
from openteam.teammates.authors.store import State

Numbers = Array | np.ndarray  # weights are constants of the programs they are part of


def stacked(trees: Sequence[Any]) -> Any:
    """Networks of equal shapes as one, with a leading axis."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def mlp(state: State, names: Sequence[str], *sizes: int) -> MLP:
    """Linear layers with ReLU between them, of which the first reads inputs of these sizes, one after the other."""
    weights = [state[f"{name}.weight"].T for name in names]
    blank = jax.eval_shape(lambda: MLP(jax.random.key(0), sizes, *(weight.shape[1] for weight in weights)))
    leaves = [*np.split(weights[0], np.cumsum(sizes)[:-1]), state[f"{names[0]}.bias"]]
    for name, weight in zip(names[1:], weights[1:], strict=True):
        leaves += [weight, state[f"{name}.bias"]]
    return jax.tree.unflatten(jax.tree.structure(blank), leaves)


class Recurrent(eqx.Module):
    """A long short-term memory without the gates that ours keeps for its gradient."""

    inputs: Float[Numbers, "in gates"]
    hidden: Float[Numbers, "width gates"]
    bias: Float[Numbers, "gates"]

    @classmethod
    def of(cls, state: State, name: str) -> Recurrent:
        """The one of that name."""
        bias = state[f"{name}.bias_ih_l0"] + state[f"{name}.bias_hh_l0"]
        return cls(state[f"{name}.weight_ih_l0"].T, state[f"{name}.weight_hh_l0"].T, bias)

    def read(self, x: Float[Array, "*rows in"]) -> Float[Array, "*rows gates"]:
        """The part of the gates that comes from the input."""
        return x @ self.inputs + self.bias

    def step(
        self, hidden: Float[Array, "*rows width"], cell: Float[Array, "*rows width"], read: Float[Array, "*rows gates"]
    ) -> tuple[Float[Array, "*rows width"], Float[Array, "*rows width"]]:
        """Hidden state and cell after an input that was ``read``."""
        i, f, g, o = jnp.split(squash(read + hidden @ self.hidden), 4, -1)
        cell = f * cell + i * g
        return o * jnp.tanh(cell), cell
