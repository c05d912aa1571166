"""One-hot choices that gradients pass through."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def straight_through(perturbed_logits: Float[Array, "*batch actions"]) -> Float[Array, "*batch actions"]:
    """The largest logit as a one-hot vector with the gradient of the softmax.

    With Gumbel noise -log(-log(u)) added to the logits it is a draw from their softmax (Jang et al., "Categorical
    reparameterization with Gumbel-softmax", ICLR 2017).
    """
    soft = jax.nn.softmax(perturbed_logits)
    hard = jax.nn.one_hot(jnp.argmax(perturbed_logits, -1), perturbed_logits.shape[-1])
    return soft + jax.lax.stop_gradient(hard - soft)
