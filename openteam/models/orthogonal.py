"""Orthogonal weights (Saxe et al., 2014), the usual initialisation of actor-critic methods."""

from __future__ import annotations

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from openteam.models.layers import Linear

Network = TypeVar("Network")
HIDDEN_GAIN = 2**0.5


def orthogonal(key: Key[Array, ""], network: Network, gain: float) -> Network:
    """The same network with new weights: every linear layer orthogonal, scaled by ``gain``, with zero bias."""
    nodes, structure = jax.tree.flatten(network, is_leaf=is_linear)
    keys = jax.random.split(key, len(nodes))
    new = [orthogonal_layer(k, node, gain) if is_linear(node) else node for k, node in zip(keys, nodes, strict=True)]
    return jax.tree.unflatten(structure, new)


def orthogonal_layer(key: Key[Array, ""], layer: Linear, gain: float) -> Linear:
    """Orthogonal weights; those of several inputs are parts of one orthogonal matrix."""
    sizes = [len(weight) for weight in layer.weights]
    whole = jax.nn.initializers.orthogonal(gain)(key, (sum(sizes), len(layer.bias)))
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    weights = tuple(whole[end - size : end] for size, end in zip(sizes, ends, strict=True))
    return eqx.tree_at(lambda each: (each.weights, each.bias), layer, (weights, jnp.zeros_like(layer.bias)))


def is_linear(node: Any) -> bool:
    """Whether a node of a tree is a linear layer."""
    return isinstance(node, Linear)
