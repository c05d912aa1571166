"""Multi-head attention among agents, the relation kernel of Deep Graph Networks (Jiang et al., 2020)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.models.layers import Linear


class RelationLayer(eqx.Module):
    """h'_i = relu(W concat_m sum_j a_ij^m v_j^m), a_i^m = softmax_j(q_i^m . k_j^m / sqrt(d)) over agents that exist.

    Queries, keys and values are rectified, as in the authors' code. Every agent attends to itself too, so that nobody
    is ever left without anyone to attend to.
    """

    queries: Linear
    keys: Linear
    values: Linear
    out: Linear
    heads: int = eqx.field(static=True)

    def __init__(self, key: Key[Array, ""], size: int, width: int, *, heads: int, head_size: int):
        k_query, k_key, k_value, k_out = jax.random.split(key, 4)
        inner = heads * head_size
        self.queries = Linear(k_query, size, inner)
        self.keys = Linear(k_key, size, inner)
        self.values = Linear(k_value, size, inner)
        self.out = Linear(k_out, inner, width)
        self.heads = heads

    def __call__(
        self, nodes: Float[Array, "slots size"], exists: Bool[Array, "slots"]
    ) -> tuple[Float[Array, "slots width"], Float[Array, "heads slots slots"]]:
        """The agents after one round of attention, and whom each attended to. Rows of absent agents mean nothing."""
        q, k, v = (self.split(jax.nn.relu(part(nodes))) for part in (self.queries, self.keys, self.values))
        scores = jnp.einsum("ihd,jhd->hij", q, k) * q.shape[-1] ** -0.5
        may_attend = exists[None, :] | jnp.eye(len(nodes), dtype=bool)
        attention = jax.nn.softmax(jnp.where(may_attend, scores, -jnp.inf))
        mixed = jnp.einsum("hij,jhd->ihd", attention, v)
        return jax.nn.relu(self.out(mixed.reshape(len(nodes), -1))), attention

    def split(self, rows: Float[Array, "slots inner"]) -> Float[Array, "slots heads head"]:
        return rows.reshape(len(rows), self.heads, -1)
