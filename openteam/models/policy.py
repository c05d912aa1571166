"""A small network that looks at one observation, and the policy that acts on what it says.

Learned teammates are computed for every slot of every environment at every step, so this is kept cheap: nothing is
remembered, no two agents are paired but the viewer with each other one, and two hidden layers are all.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.policy import AbstractMemoryless
from openteam.core.types import Observation, Spec
from openteam.models.layers import Linear


class PolicyNetwork(eqx.Module):
    """Logits of a policy (or, with one output, a value) from one observation, for a team of any size.

    The viewer's own row and the shared features are one part. Every other visible agent, seen beside the viewer, is a
    part too; these are summed and maximised over agents, so that neither their order nor empty slots matter.
    """

    own: Linear
    other: Linear
    trunk: Linear
    out: Linear

    def __init__(self, key: Key[Array, ""], spec: Spec, outputs: int, *, width: int, out_scale: float = 1.0):
        k_own, k_other, k_trunk, k_out = jax.random.split(key, 4)
        self.own = Linear(k_own, (spec.agent_features, spec.shared_features), width)
        self.other = Linear(k_other, (spec.agent_features, spec.agent_features), width)
        self.trunk = Linear(k_trunk, (width, width, width), width)
        self.out = jax.tree.map(lambda leaf: out_scale * leaf, Linear(k_out, width, outputs))

    def __call__(self, obs: Observation) -> Float[Array, "outputs"]:
        viewer = obs.agents[0]
        own = jax.nn.relu(self.own(viewer, obs.shared))
        seen = obs.visible[1:, None]
        others = jnp.where(seen, jax.nn.relu(self.other(obs.agents[1:], viewer)), 0)
        return self.out(jax.nn.relu(self.trunk(own, others.sum(0), others.max(0, initial=0))))


class NetworkPolicy(AbstractMemoryless):
    """Samples from a network's logits, without memory. Its numbers are arrays, so that policies can be stacked."""

    network: PolicyNetwork
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    masks: Bool[Array, ""]  # never takes an action without effect

    def act(
        self, key: Key[Array, ""], memory: tuple[()], obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], tuple[()]]:
        del fresh
        return draw_action(key, self.logits(obs), self.temperature), memory

    def logits(self, obs: Observation) -> Float[Array, "actions"]:
        return possible(self.network(obs), obs.legal, self.masks)


def possible(
    logits: Float[Array, "actions"], legal: Bool[Array, "actions"], masks: Bool[Array, ""]
) -> Float[Array, "actions"]:
    """The logits, very low for actions that are ruled out."""
    return jnp.where(legal | ~masks, logits, -1e9)


def draw_action(key: Key[Array, ""], logits: Float[Array, "actions"], temperature: Float[Array, ""]) -> Int[Array, ""]:
    """A sample from softmax(logits / temperature), by adding Gumbel noise; the largest logit at temperature 0."""
    uniform = jax.random.uniform(key, logits.shape, minval=1e-7)
    noise = -jnp.log(-jnp.log(uniform))
    return jnp.argmax(logits + temperature * noise).astype(jnp.int32)
