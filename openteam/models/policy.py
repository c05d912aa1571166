"""A small network on one observation, and the policy that draws actions from its logits.

Learned teammates are computed for every slot of every environment at every step, so this is kept cheap: no memory, two
hidden layers, and the only pairs of agents are those of the viewer with each other agent.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.memory import Memory
from openteam.core.policy import AbstractMemoryless, Decision, Explanation
from openteam.core.types import Observation, Spec, View
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
    critic: PolicyNetwork | None = None  # only for explanations; shipped teammates have none

    def decide(self, key: Key[Array, ""], memory: Memory[tuple[()], tuple[()]], view: View) -> Decision:
        logits = self.logits(view.obs)
        explanation = Explanation(
            value=None if self.critic is None else self.critic(view.obs)[0],
            probabilities=action_probabilities(logits, self.temperature),
        )
        return Decision(draw_action(key, logits, self.temperature), memory, explanation)

    def logits(self, obs: Observation) -> Float[Array, "actions"]:
        return masked_logits(self.network(obs), obs.legal, self.masks)


def masked_logits(
    logits: Float[Array, "*batch actions"], legal: Bool[Array, "*batch actions"], masks: Bool[Array, ""] | bool
) -> Float[Array, "*batch actions"]:
    """The logits; where ``masks`` is set, very low for actions without effect."""
    return jnp.where(legal | ~jnp.asarray(masks), logits, -1e9)


def draw_action(key: Key[Array, ""], logits: Float[Array, "actions"], temperature: Float[Array, ""]) -> Int[Array, ""]:
    """A sample from softmax(logits / temperature), by adding Gumbel noise; the largest logit at temperature 0."""
    return jnp.argmax(logits + temperature * gumbel_noise(key, logits.shape)).astype(jnp.int32)


def action_probabilities(logits: Float[Array, "actions"], temperature: Float[Array, ""]) -> Float[Array, "actions"]:
    """The distribution that ``draw_action`` samples from."""
    greedy = jax.nn.one_hot(jnp.argmax(logits), len(logits))
    return jnp.where(temperature > 0, jax.nn.softmax(logits / jnp.where(temperature > 0, temperature, 1)), greedy)


def gumbel_noise(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """-log(-log(u)): added to logits, the largest of them is a sample from their softmax."""
    return -jnp.log(-jnp.log(jax.random.uniform(key, shape, minval=1e-7)))
