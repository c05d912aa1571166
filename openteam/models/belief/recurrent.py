"""A belief that is the memory of a recurrent network, kept informative by what can be decoded from it.

An autoencoder or, with a Gaussian posterior, a variational autoencoder (paper, "Representation-based State Inference"
and "Variational Autoencoder-based Belief"). The decoder of actions is GPL's agent model.
"""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, Key

from openteam.core.checked import AbstractChecked
from openteam.core.memory import Memory
from openteam.core.types import Chunk, Observation, Spec, Truth, View, over_chunk
from openteam.errors import check_positive
from openteam.models.agent import AgentModelSizes, RelationalForwardModel
from openteam.models.belief.decoder import Decoder, log_likelihood
from openteam.models.belief.existence import AbstractExistenceRule, ExistenceModel, log_bernoulli
from openteam.models.belief.hypotheses import (
    AbstractBelief,
    Decoded,
    Hypotheses,
    Losses,
    observed,
    preprocess,
    preprocessed,
    true_state,
)
from openteam.models.belief.posterior import AbstractPosterior
from openteam.models.lstm import LSTMState
from openteam.models.types import TypeInference

RecurrentMemory = Memory[tuple[()], LSTMState]


class AutoencoderSizes(AbstractChecked):
    """Sizes of a recurrent belief's networks."""

    encoder_width: int = eqx.field(static=True, default=100)
    """Width of the two layers before the LSTM."""
    hidden: int = eqx.field(static=True, default=100)
    """Width of the LSTM."""
    representation: int = eqx.field(static=True, default=70)
    """Length of rho or z, which stands for an agent."""
    decoder_width: int = eqx.field(static=True, default=70)
    """Width of the decoders' layers."""

    def __check_init__(self) -> None:
        check_positive(self, "encoder_width", "hidden", "representation", "decoder_width")


class RecurrentBelief(AbstractBelief):
    """An encoder that remembers, and decoders of actions, observation, state and existence."""

    encoder: TypeInference
    posterior: AbstractPosterior
    agent: RelationalForwardModel
    existence: ExistenceModel
    observation: Decoder
    state: Decoder
    existence_rule: AbstractExistenceRule

    def __init__(
        self, key: Key[Array, ""], spec: Spec, posterior: AbstractPosterior, existence_rule: AbstractExistenceRule, *,
        sizes: AutoencoderSizes, learned_spread: bool, agent: AgentModelSizes,
    ):  # fmt: skip
        k_encoder, k_agent, k_existence, k_observation, k_state = jax.random.split(key, 5)
        size, width = sizes.representation, sizes.decoder_width
        self.encoder = TypeInference(
            k_encoder, preprocessed(spec), encoder_width=sizes.encoder_width, hidden=sizes.hidden,
            type_size=posterior.numbers(size),
        )  # fmt: skip
        self.posterior, self.existence_rule = posterior, existence_rule
        self.agent = agent.build(k_agent, size, spec.actions)
        self.existence = ExistenceModel(k_existence, size, width=width)
        self.observation, self.state = (
            Decoder(k, size, spec, width=width, learned_spread=learned_spread) for k in (k_observation, k_state)
        )

    @property
    def resamples(self) -> bool:
        return False

    def start(self, slots: int) -> RecurrentMemory:
        return Memory((), self.encoder.start(slots))

    def step(self, key: Key[Array, ""], memory: RecurrentMemory, view: View) -> tuple[Hypotheses, RecurrentMemory]:
        encoded, state = self.encoder.step(memory.slots, preprocess(view), view.fresh)
        return self.hypotheses(key, encoded, view.obs.visible), Memory((), state)

    def follow(self, key: Key[Array, ""], memory: RecurrentMemory, view: View) -> Hypotheses:
        return self.step(key, memory, view)[0]

    def hypotheses(
        self, key: Key[Array, ""], encoded: Float[Array, "slots numbers"], visible: Bool[Array, "slots"]
    ) -> Hypotheses:
        k_sample, k_exists = jax.random.split(key)
        representation, log_weight = self.posterior.sample(k_sample, encoded)
        exists = self.existence_rule(k_exists, self.existence, representation, visible)
        return Hypotheses(representation, exists, log_weight, jax.vmap(self.agent)(representation, exists))

    def recorded_hypotheses(self, key: Key[Array, ""], chunk: Chunk) -> tuple[Hypotheses, Losses]:
        view = chunk.timesteps.view
        seen = over_chunk(preprocess)(view)
        encoded = self.encoder.recorded_types(chunk.before.slots, chunk.memory.slots, seen, view.fresh)
        keys = jax.random.split(key, view.starts.shape)
        hypotheses = over_chunk(self.hypotheses)(keys, encoded, seen.visible)
        return hypotheses, self.losses(encoded, hypotheses, seen, chunk.truth)

    def losses(
        self,
        encoded: Float[Array, "time envs slots numbers"],
        hypotheses: Hypotheses,
        seen: Observation,
        truth: Truth,
    ) -> Losses:
        """Means over the chunk, by the first sample where there are several."""
        representation, exists = hypotheses.representation[:, :, 0], hypotheses.exists[:, :, 0]
        truly = truth.exists.astype(exists.dtype)
        logits = over_chunk(self.existence.logits)(representation, truly)
        observation = over_chunk(self.observation)(representation, exists)
        state = over_chunk(self.state)(representation, exists)
        losses = {
            "observation_loss": -log_likelihood(observation, *observed(seen)).mean(),
            "state_loss": -log_likelihood(state, *true_state(truth), truth.exists).mean(),
            "existence_loss": -log_bernoulli(logits, truly)[..., 1:].mean(),
        }
        divergence = self.posterior.divergence(encoded)
        return losses if divergence is None else losses | {"divergence": divergence.mean()}

    def decode(self, hypotheses: Hypotheses) -> Decoded:
        return jax.vmap(self.state)(hypotheses.representation, hypotheses.exists)
