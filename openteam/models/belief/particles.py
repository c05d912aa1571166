"""Particles as values: what each says of every agent, how likely it is, and how they are remembered.

Computations have the particle axis first. In memory every array has its slot axis first, as ``Memory`` asks.
"""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from openteam.core.memory import Memory

Tree = TypeVar("Tree")


class Guess(eqx.Module):
    """What a particle says of every agent: a_t-1, e_t, s_t and theta_t of the paper."""

    action: Float[Array, "*batch actions"]  # its last action, one-hot; zeros for those who did not exist
    exists: Float[Array, "*batch"]
    state: Float[Array, "*batch state"]
    type: Float[Array, "*batch type"]  # the type update network's hidden state
    cell: Float[Array, "*batch type"]  # and its cell

    @property
    def representation(self) -> Float[Array, "*batch representation"]:
        """State and type."""
        return jnp.concatenate([self.state, self.type], -1)


class WeightTerms(eqx.Module):
    """The parts of a particle's log weight."""

    action: Float[Array, "*batch"]  # log p(a) / q(a)
    existence: Float[Array, "*batch"]  # log p(e) / q(e)
    state: Float[Array, "*batch"]  # log p(s) / q(s)
    rows: Float[Array, "*batch"]  # log p of what is seen of every agent
    shared: Float[Array, "*batch"]  # log p of the shared features
    divergence: Float[Array, "*batch"]  # KL(q(s) || p(s)): no part of the weight, but what its state part is like

    @property
    def observation(self) -> Float[Array, "*batch"]:
        """log p(o)."""
        return self.rows + self.shared

    @property
    def total(self) -> Float[Array, "*batch"]:
        """w."""
        return self.action + self.existence + self.state + self.observation


class Particles(eqx.Module):
    """Guesses and the logarithms of their weights."""

    guess: Guess
    log_weight: Float[Array, "*batch particles"]
    terms: WeightTerms | None = None  # where the weight comes from; not remembered


class GuessNoise(eqx.Module):
    """Randomness of a step's guesses, for every agent."""

    action: Float[Array, "*batch actions"]  # Gumbel
    exists: Float[Array, "*batch"]  # uniform
    state: Float[Array, "*batch state"]  # standard normal


class Noise(eqx.Module):
    """All randomness of a step."""

    resample: Float[Array, "*batch particles"]  # uniform
    guess: GuessNoise


class TeamMemory(eqx.Module):
    """What is remembered of the particles as a whole."""

    log_weight: Float[Array, "*batch particles"]
    resample: Float[Array, "*batch particles"]


class SlotMemory(eqx.Module):
    """What all particles say of each slot. The noise is kept so that an update can repeat the step."""

    guess: Guess
    noise: GuessNoise


ParticleMemory = Memory[TeamMemory, SlotMemory]


def remember(particles: Particles, noise: Noise) -> ParticleMemory:
    """The memory after a step."""
    team = TeamMemory(particles.log_weight, noise.resample)
    return Memory(team, swap_axes(SlotMemory(particles.guess, noise.guess)))


def recall(memory: ParticleMemory) -> tuple[Particles, Noise]:
    """The particles after a step, and the noise that led to them."""
    slots = swap_axes(memory.slots)
    return Particles(slots.guess, memory.team.log_weight), Noise(memory.team.resample, slots.noise)


def swap_axes(tree: Tree) -> Tree:
    """From [particles, slots, ...] to [slots, particles, ...] or back."""
    return jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), tree)


def forget(guess: Guess, fresh: Bool[Array, "slots"]) -> Guess:
    """Nobody is known to exist in these slots, in any particle; the rest of a particle stays."""
    return jax.tree.map(lambda leaf: jnp.where(fresh.reshape(-1, *(1,) * (leaf.ndim - 2)), 0, leaf), guess)
