"""Actors and critics for PPO, and how each kind acts.

Actor and critic are two networks on the same inputs, so that the critic's loss does not shape the policy, and the actor
can be shipped alone.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from openteam.core.checked import AbstractChecked
from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.types import Chunk, Observation, Spec, View, over_chunk
from openteam.errors import check_positive
from openteam.models.fixed_slots import FixedSlots, FlatObservation, fixed_size
from openteam.models.layers import MLP
from openteam.models.orthogonal import HIDDEN_GAIN, orthogonal
from openteam.models.policy import NetworkPolicy, PolicyNetwork, action_probabilities, draw_action, masked_logits


class AbstractActorCritic(eqx.Module):
    """The actor gives logits, the critic a value in a vector of length 1, both of the same inputs."""

    actor: eqx.AbstractVar[Any]
    critic: eqx.AbstractVar[Any]

    @abstractmethod
    def policy(self, temperature: Float[Array, ""], masks: Bool[Array, ""]) -> AbstractPolicy:
        """Draws from softmax(logits / temperature); with ``masks``, only actions that have an effect."""

    @abstractmethod
    def inputs(self, chunk: Chunk) -> tuple[PyTree[Any], PyTree[Any]]:
        """The networks' inputs where each action was chosen, and where it led."""


class AbstractNetworkSettings(AbstractChecked):
    """The kind and the sizes of PPO's networks."""

    @abstractmethod
    def init(self, key: Key[Array, ""], spec: Spec) -> AbstractActorCritic:
        """Networks that have learned nothing."""


class SetActorCritic(AbstractActorCritic):
    """Networks for a team of any size, without memory."""

    actor: PolicyNetwork
    critic: PolicyNetwork

    def policy(self, temperature: Float[Array, ""], masks: Bool[Array, ""]) -> NetworkPolicy:
        return NetworkPolicy(self.actor, temperature, masks, self.critic)

    def inputs(self, chunk: Chunk) -> tuple[Observation, Observation]:
        return chunk.timesteps.view.obs, chunk.next_timesteps.final_view.obs


class SetNetworks(AbstractNetworkSettings):
    """Networks that sum and maximise over agents, for a team of any size."""

    width: int = eqx.field(static=True, default=64)
    """Width of all layers."""

    def __check_init__(self) -> None:
        check_positive(self, "width")

    def init(self, key: Key[Array, ""], spec: Spec) -> SetActorCritic:
        k_actor, k_critic = jax.random.split(key)
        return SetActorCritic(
            PolicyNetwork(k_actor, spec, spec.actions, width=self.width, out_scale=0.01),
            PolicyNetwork(k_critic, spec, 1, width=self.width),
        )


class FlatActorCritic(AbstractActorCritic):
    """Networks on one vector of fixed length, in which everybody has an entry and keeps it while it stays."""

    actor: MLP
    critic: MLP
    flat: FlatObservation

    def policy(self, temperature: Float[Array, ""], masks: Bool[Array, ""]) -> "FlatPolicy":
        return FlatPolicy(self, temperature, masks)

    def inputs(self, chunk: Chunk) -> tuple[Float[Array, "time envs inputs"], Float[Array, "time envs inputs"]]:
        order, entry, after = chunk.memory.team, chunk.memory.slots, chunk.next_timesteps.final_view
        next_entry = over_chunk(self.flat.slots.step)(order, entry, after.fresh)
        flatten = over_chunk(self.flat)
        return flatten(chunk.timesteps.view.obs, entry), flatten(after.obs, next_entry)


class FlatPolicy(AbstractPolicy):
    """Samples from the logits of a flat observation.

    It remembers the entry of every slot, and the order in which free entries are taken at the next step.
    """

    model: FlatActorCritic
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    masks: Bool[Array, ""]  # never takes an action without effect

    def start(self, slots: int) -> Memory[Float[Array, "entries"], Int[Array, "slots"]]:
        return Memory(*self.model.flat.slots.start(slots))

    def decide(self, key: Key[Array, ""], memory: Memory[Array, Array], view: View) -> Decision:
        k_action, k_order = jax.random.split(key)
        flat = self.model.flat
        entry = flat.slots.step(memory.team, memory.slots, view.fresh)
        inputs = flat(view.obs, entry)
        logits = masked_logits(self.model.actor(inputs), view.obs.legal, self.masks)
        explanation = Explanation(
            value=self.model.critic(inputs)[0], probabilities=action_probabilities(logits, self.temperature)
        )
        action = draw_action(k_action, logits, self.temperature)
        return Decision(action, Memory(flat.slots.draw(k_order), entry), explanation)


class FlatNetworks(AbstractNetworkSettings):
    """Plain networks with two hidden layers, for teams of limited size."""

    max_agents: int | None = eqx.field(static=True, default=None)
    """The largest team it can be used in, the learner included; None takes the largest of the task's splits."""
    width: int = eqx.field(static=True, default=128)
    """Width of all layers."""

    def __check_init__(self) -> None:
        check_positive(self, "width", "max_agents")

    def init(self, key: Key[Array, ""], spec: Spec) -> FlatActorCritic:
        k_actor, k_critic = jax.random.split(key)
        flat = FlatObservation(FixedSlots(fixed_size("PPO", self.max_agents, spec)))
        return FlatActorCritic(
            tanh_network(k_actor, flat.size(spec), self.width, spec.actions, out_gain=0.01),
            tanh_network(k_critic, flat.size(spec), self.width, 1, out_gain=1.0),
            flat,
        )


def tanh_network(key: Key[Array, ""], size: int, width: int, outputs: int, *, out_gain: float) -> MLP:
    """Two hidden layers, initialised as in stable-baselines3."""
    k_shape, k_hidden, k_out = jax.random.split(key, 3)
    network = orthogonal(k_hidden, MLP(k_shape, size, width, width, outputs, activation=jnp.tanh), HIDDEN_GAIN)
    out = orthogonal(k_out, network.layers[-1], out_gain)
    return eqx.tree_at(lambda n: n.layers[-1], network, out)
