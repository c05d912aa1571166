"""PPO of a single agent to whom its team is part of the world (paper, appendix "Baselines").

A plain network on a vector of fixed length, without memory: it shows what a learner gains by inferring what it cannot
see.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.algorithms.ppo_learning import AbstractActorCritic, AbstractPPO
from openteam.core.chunks import acted_on, led_to, over_chunk
from openteam.core.policy import AbstractPolicy
from openteam.core.types import Chunk, Observation, Spec
from openteam.models.flat import Flat
from openteam.models.layers import MLP
from openteam.models.orthogonal import HIDDEN_GAIN, orthogonal
from openteam.models.places import Placed, Places, check_places, count_places
from openteam.models.policy import draw_action, possible


class FlatActorCritic(AbstractActorCritic):
    """Networks that look at one flat observation."""

    actor: MLP
    critic: MLP
    flat: Flat


class FlatPolicy(AbstractPolicy):
    """Samples from what a network says of the flat observation. Who sits where is all it remembers."""

    actor: MLP
    flat: Flat
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    masks: Bool[Array, ""]  # never takes an action without effect

    def start(self, slots: int) -> Placed:
        return self.flat.start(slots)

    def act(
        self, key: Key[Array, ""], memory: Placed, obs: Observation, fresh: Bool[Array, "slots"]
    ) -> tuple[Int[Array, ""], Placed]:
        memory = self.flat.step(memory, obs, fresh)
        logits = possible(self.actor(self.flat(obs, memory.place)), obs.legal, self.masks)
        return draw_action(key, logits, self.temperature), memory


class PPO(AbstractPPO):
    """Proximal policy optimisation on a flat observation, without memory."""

    places: int | None = eqx.field(static=True, default=None)
    """The most agents there can ever be; by default as many as the task's largest split has."""

    def __check_init__(self) -> None:
        check_places(self)

    def networks(self, key: Key[Array, ""], spec: Spec) -> FlatActorCritic:
        k_actor, k_critic = jax.random.split(key)
        flat = Flat(Places(count_places(self, spec)))
        size = flat.size(spec)
        return FlatActorCritic(
            tanh_network(k_actor, size, self.width, spec.actions, out_gain=0.01),
            tanh_network(k_critic, size, self.width, 1, out_gain=1.0),
            flat,
        )

    def acting(self, model: FlatActorCritic, temperature: Float[Array, ""]) -> FlatPolicy:
        return FlatPolicy(model.actor, model.flat, temperature, self.masks)

    def seen(
        self, model: FlatActorCritic, chunk: Chunk
    ) -> tuple[Float[Array, "time envs inputs"], Float[Array, "time envs inputs"]]:
        led, flatten = led_to(chunk), over_chunk(model.flat)
        after = over_chunk(model.flat.step)(chunk.memory, led.final_obs, led.joined)
        return flatten(acted_on(chunk).obs, chunk.memory.place), flatten(led.final_obs, after.place)


def tanh_network(key: Key[Array, ""], size: int, width: int, outputs: int, *, out_gain: float) -> MLP:
    """Two hidden layers, begun as stable-baselines3 does."""
    k_shape, k_hidden, k_out = jax.random.split(key, 3)
    network = orthogonal(k_hidden, MLP(k_shape, size, width, width, outputs, activation=jnp.tanh), HIDDEN_GAIN)
    out = orthogonal(k_out, network.layers[-1], out_gain)
    return eqx.tree_at(lambda n: n.layers[-1], network, out)
