"""A belief that is the memory of a recurrent network, kept informative by what can be decoded from it.

An autoencoder or, with a Gaussian posterior, a variational autoencoder (paper, "Representation-based State Inference"
and "Variational Autoencoder-based Belief"). The decoder of actions is GPL's agent model.
"""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from openteam.core.chunks import over_chunk
from openteam.core.types import Observation, Spec, Truth
from openteam.models.agent import RelationalForwardModel
from openteam.models.belief.decoder import Decoder, log_likelihood
from openteam.models.belief.existence import Existence, log_bernoulli
from openteam.models.belief.hypotheses import (
    AbstractBelief,
    Decoded,
    Hypotheses,
    Terms,
    observed,
    preprocessed,
    true_state,
)
from openteam.models.belief.posterior import AbstractPosterior
from openteam.models.lstm import Memory
from openteam.models.types import TypeInference

Exists = Literal["expected", "sampled", "all"]


class RecurrentBelief(AbstractBelief):
    """An encoder that remembers, and decoders of actions, observation, state and existence."""

    encoder: TypeInference
    posterior: AbstractPosterior
    agent: RelationalForwardModel
    existence: Existence
    observation: Decoder
    state: Decoder
    exists: Exists = eqx.field(static=True)
    resamples: bool = eqx.field(static=True, default=False)

    def __init__(
        self, key: Key[Array, ""], spec: Spec, posterior: AbstractPosterior, *,
        encoder_width: int, hidden: int, size: int, decoder_width: int, learned_spread: bool, exists: Exists,
        agent: dict[str, Any],
    ):  # fmt: skip
        k_encoder, k_agent, k_existence, k_observation, k_state = jax.random.split(key, 5)
        self.encoder = TypeInference(
            k_encoder, preprocessed(spec), encoder_width=encoder_width, hidden=hidden, type_size=posterior.numbers(size)
        )
        self.posterior, self.exists = posterior, exists
        self.agent = RelationalForwardModel(k_agent, size, spec.actions, **agent)
        self.existence = Existence(k_existence, size, width=decoder_width)
        self.observation, self.state = (
            Decoder(k, size, spec, width=decoder_width, learned_spread=learned_spread) for k in (k_observation, k_state)
        )

    def start(self, slots: int) -> Memory:
        return self.encoder.start(slots)

    def step(
        self, key: Key[Array, ""], memory: Memory, seen: Observation, starts: Bool[Array, ""]
    ) -> tuple[Hypotheses, Memory]:
        encoded, memory = self.encoder.step(memory, seen, jnp.broadcast_to(starts, seen.visible.shape))
        return self.hypotheses(key, encoded, seen.visible), memory

    def follow(self, key: Key[Array, ""], memory: Memory, seen: Observation) -> Hypotheses:
        return self.step(key, memory, seen, jnp.zeros((), bool))[0]

    def hypotheses(
        self, key: Key[Array, ""], encoded: Float[Array, "slots numbers"], visible: Bool[Array, "slots"]
    ) -> Hypotheses:
        k_sample, k_exists = jax.random.split(key)
        representation, log_weight = self.posterior.sample(k_sample, encoded)
        samples, slots, _ = representation.shape
        uniform = jax.random.uniform(k_exists, (samples, slots)) if self.exists == "sampled" else None

        def infer(one: Float[Array, "slots size"], numbers: Float[Array, "slots"] | None) -> Float[Array, "slots"]:
            if self.exists == "all":
                return jnp.ones(slots)
            return self.existence.infer(one, known=visible, uniform=numbers)

        exists = jax.vmap(infer)(representation, uniform)
        return Hypotheses(representation, exists, log_weight, jax.vmap(self.agent)(representation, exists))

    def replay(
        self,
        key: Key[Array, ""],
        before: Memory,
        memory: Memory,
        seen: Observation,
        starts: Bool[Array, "time envs"],
        truth: Truth,
    ) -> tuple[Hypotheses, Terms]:
        fresh = jnp.broadcast_to(starts[..., None], seen.visible.shape)
        encoded = self.encoder.replay(before, memory, seen, fresh)
        hypotheses = over_chunk(self.hypotheses)(jax.random.split(key, starts.shape), encoded, seen.visible)
        return hypotheses, self.terms(encoded, hypotheses, seen, truth)

    def terms(
        self,
        encoded: Float[Array, "time envs slots numbers"],
        hypotheses: Hypotheses,
        seen: Observation,
        truth: Truth,
    ) -> Terms:
        """Means over the chunk of what is to be small, by the first sample where there are several."""
        one, exists = hypotheses.representation[:, :, 0], hypotheses.exists[:, :, 0]
        there = truth.exists.astype(exists.dtype)
        logits = over_chunk(lambda rows, flags: self.existence.logits(rows, exists=flags))(one, there)
        observation, state = over_chunk(self.observation)(one, exists), over_chunk(self.state)(one, exists)
        terms = {
            "observation_loss": -log_likelihood(observation, *observed(seen)).mean(),
            "state_loss": -log_likelihood(state, *true_state(truth), truth.exists).mean(),
            "existence_loss": -log_bernoulli(logits, there)[..., 1:].mean(),
        }
        divergence = self.posterior.divergence(encoded)
        return terms if divergence is None else terms | {"divergence": divergence.mean()}

    def decode(self, hypotheses: Hypotheses) -> Decoded:
        return jax.vmap(self.state)(hypotheses.representation, hypotheses.exists)
