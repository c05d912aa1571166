"""Independent PPO: one policy, trained in all slots at once, each slot on its own reward.

It makes the learned teammates, and is a learner like any other: trained jointly, evaluated alone among the pool's
teammates.
"""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from openteam.algorithms.ppo_learning import AbstractActorCritic, AbstractPPO, Normalise
from openteam.algorithms.rules import Schedule
from openteam.core.chunks import acted_on, led_to
from openteam.core.types import Chunk, Observation, Spec
from openteam.models.policy import NetworkPolicy, PolicyNetwork


class ActorCritic(AbstractActorCritic):
    """Networks that look at one observation, in a team of any size."""

    actor: PolicyNetwork
    critic: PolicyNetwork


class IPPO(AbstractPPO):
    """Independent PPO with shared parameters, without memory."""

    joint: ClassVar[bool] = True
    envs: int = eqx.field(static=True, default=64)
    update_every: int = eqx.field(static=True, default=32)
    epochs: int = eqx.field(static=True, default=4)
    minibatches: int = eqx.field(static=True, default=4)
    learning_rate: Schedule = Schedule(1e-3, 1e-5, 1.0)
    normalise: Normalise = eqx.field(static=True, default="update")
    entropy: Schedule = Schedule(0.02, 0.002, 1.0)
    mask_illegal: bool = eqx.field(static=True, default=True)
    """Consider only actions that have an effect. The largest single help in a short run."""
    width: int = eqx.field(static=True, default=64)

    def networks(self, key: Key[Array, ""], spec: Spec) -> ActorCritic:
        k_actor, k_critic = jax.random.split(key)
        return ActorCritic(
            PolicyNetwork(k_actor, spec, spec.actions, width=self.width, out_scale=0.01),
            PolicyNetwork(k_critic, spec, 1, width=self.width),
        )

    def acting(self, model: ActorCritic, temperature: Float[Array, ""]) -> NetworkPolicy:
        return NetworkPolicy(model.actor, temperature, self.masks)

    def seen(self, model: ActorCritic, chunk: Chunk) -> tuple[Observation, Observation]:
        del model
        return acted_on(chunk).obs, led_to(chunk).final_obs
