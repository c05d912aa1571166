"""AE-GPL and VAE-GPL: GPL on a belief that is the memory of an autoencoder, plain or variational."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Key

from openteam.algorithms.belief_learning import AbstractBeliefLearner
from openteam.core.types import Spec
from openteam.errors import UserError, check_positive
from openteam.models.belief.posterior import Density, Gaussian, Point
from openteam.models.belief.recurrent import Exists, RecurrentBelief


class RecurrentGPL(AbstractBeliefLearner):
    """Without samples it is AE-GPL, with some it is VAE-GPL."""

    samples: int | None = eqx.field(static=True, default=None)
    """Representations drawn from the encoder's normal distribution; None for an encoder without a distribution."""
    density: Density = eqx.field(static=True, default="joint")
    """A sample counts by its density (the paper), or by the mean density of its numbers (the released code)."""
    exists: Exists = eqx.field(static=True, default="expected")
    """How much an unseen agent counts: as much as it is likely to exist, 0 or 1 by chance (the released AE-GPL), or
    as much as anybody (the released VAE-GPL)."""
    learned_spread: bool = eqx.field(static=True, default=False)
    """Decoders also say how sure they are. If not their loss is a squared error, the paper's for AE-GPL."""
    observation_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing what is seen."""
    state_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing the true state, which training may look at and a decision may not."""
    existence_weight: float = eqx.field(static=True, default=0.02)
    """Weight of the log likelihood of who exists."""
    divergence_weight: float = eqx.field(static=True, default=0.001)
    """Weight of the divergence from the prior, if there are samples."""
    encoder_width: int = eqx.field(static=True, default=100)
    """Width of the two layers before the LSTM."""
    hidden: int = eqx.field(static=True, default=100)
    """Width of the LSTM."""
    representation: int = eqx.field(static=True, default=70)
    """Length of rho or z, which says everything about an agent."""
    decoder_width: int = eqx.field(static=True, default=70)
    """Width of the decoders' layers."""

    def __check_init__(self) -> None:
        check_positive(self, "encoder_width", "hidden", "representation", "decoder_width")
        if self.samples is not None and self.samples < 1:
            raise UserError(f"VAE-GPL draws at least 1 sample, and AE-GPL has None; got samples {self.samples}.")

    def belief(self, key: Key[Array, ""], spec: Spec) -> tuple[RecurrentBelief, int]:
        posterior = Point() if self.samples is None else Gaussian(self.samples, self.density)
        belief = RecurrentBelief(
            key, spec, posterior, encoder_width=self.encoder_width, hidden=self.hidden, size=self.representation,
            decoder_width=self.decoder_width, learned_spread=self.learned_spread, exists=self.exists,
            agent=self.agent_sizes,
        )  # fmt: skip
        return belief, self.representation

    @property
    def weights(self) -> dict[str, float]:
        return {
            "observation_loss": self.observation_weight,
            "state_loss": self.state_weight,
            "existence_loss": self.existence_weight,
            "divergence": self.divergence_weight,
        }
