"""DVRL's networks: a policy and a value that are linear in an encoding of the particle filter's belief."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from openteam.core.memory import Memory
from openteam.core.policy import AbstractPolicy, Decision, Explanation
from openteam.core.types import View
from openteam.models.belief.filter import Filter, FilterNoise, FilterState
from openteam.models.fixed_slots import FlatObservation
from openteam.models.layers import MLP, Linear
from openteam.models.policy import action_probabilities, draw_action, masked_logits


class DVRLTeam(eqx.Module):
    """The belief after a step, the noise of that step, so that an update can repeat it, and the next step's order.

    The order is that in which newcomers take free entries of the flat observation.
    """

    filter: FilterState
    noise: FilterNoise
    order: Float[Array, "*batch entries"]


class DVRLModel(eqx.Module):
    """One vector for the whole set of particles; the policy and the value are linear in it."""

    flat: FlatObservation
    filter: Filter
    encoder: MLP
    actor: Linear
    critic: Linear
    time_limit_terminates: bool = eqx.field(static=True)
    order_free: bool = eqx.field(static=True, default=False)

    def start(self, slots: int) -> Memory[DVRLTeam, Int[Array, "slots"]]:
        order, entry = self.flat.slots.start(slots)
        return Memory(DVRLTeam(*self.filter.start(), order), entry)

    def infer(
        self, noise: FilterNoise, memory: Memory[DVRLTeam, Array], view: View
    ) -> tuple[Float[Array, "belief"], FilterState, Int[Array, "slots"]]:
        """The belief after one more observation, the filter's state, and the entry of every slot."""
        entry = self.flat.slots.step(memory.team.order, memory.slots, view.fresh)
        seen = self.flat(view.obs, entry)
        state, latent = self.filter.step(memory.team.filter, seen, view.previous_action, view.starts, noise)
        return self.belief(state, latent), state, entry

    def belief(self, state: FilterState, latent: Float[Array, "particles hidden"]) -> Float[Array, "belief"]:
        """[h, phi(z), normalised weight w] of all particles, concatenated, through two layers.

        If their order must not matter: f_2(sum_k w_k relu(f_1([h_k, phi(z_k), w_k]))), with layers f_1 and f_2.
        """
        weight = jax.nn.softmax(state.log_weight)[:, None]
        particles = jnp.concatenate([state.hidden, latent, weight], -1)
        if not self.order_free:
            return self.encoder(particles.reshape(-1))
        first, last = self.encoder.layers
        return last((weight * jax.nn.relu(first(particles))).sum(0))


class FilterSteps(eqx.Module):
    """All that the filter's steps of a rollout depend on, so that they can be repeated with other parameters."""

    before: FilterState  # the particles before each step
    seen: Float[Array, "*batch inputs"]
    previous_action: Int[Array, "*batch"]
    starts: Bool[Array, "*batch"]
    noise: FilterNoise


class DVRLPolicy(AbstractPolicy):
    """Samples from logits that depend on a belief."""

    model: DVRLModel
    temperature: Float[Array, ""]  # 0 is greedy, 1 samples the softmax
    masks: Bool[Array, ""]  # never takes an action without effect

    def start(self, slots: int) -> Memory[DVRLTeam, Int[Array, "slots"]]:
        return self.model.start(slots)

    def decide(self, key: Key[Array, ""], memory: Memory[DVRLTeam, Array], view: View) -> Decision:
        k_noise, k_action, k_order = jax.random.split(key, 3)
        noise = self.model.filter.draw(k_noise)
        belief, state, entry = self.model.infer(noise, memory, view)
        logits = masked_logits(self.model.actor(belief), view.obs.legal, self.masks)
        explanation = Explanation(
            value=self.model.critic(belief)[0], probabilities=action_probabilities(logits, self.temperature)
        )
        memory = Memory(DVRLTeam(state, noise, self.model.flat.slots.draw(k_order)), entry)
        return Decision(draw_action(k_action, logits, self.temperature), memory, explanation)
