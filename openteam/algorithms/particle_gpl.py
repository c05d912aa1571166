"""PF-GPL: GPL on a belief of particles."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Key

from openteam.algorithms.belief_learning import AbstractBeliefLearner
from openteam.core.types import Spec
from openteam.errors import check_positive
from openteam.models.belief.particles import ParticleBelief, Resampling, Slots


class ParticleGPL(AbstractBeliefLearner):
    """Every particle is a hypothesis with a joint value of its own."""

    particles: int = eqx.field(static=True, default=10)
    """How many particles make the belief."""
    resampling: Resampling = eqx.field(static=True, default="multinomial")
    """How particles are drawn: independently (the paper), or evenly spaced (the released code)."""
    over_slots: Slots = eqx.field(static=True, default="mean")
    """A particle's weight averages (the released code) or adds up (the paper) what speaks for each of its agents. Added
    up, hardly more than one particle counts (docs/belief.md)."""
    learned_spread: bool = eqx.field(static=True, default=False)
    """Decoders also say how sure they are (the paper); if not they have a spread of 1 (the released code)."""
    belief_weight: float = eqx.field(static=True, default=1e-3)
    """Weight of the negative evidence lower bound, a sum over features where the other losses are means."""
    state_weight: float = eqx.field(static=True, default=0.01)
    """Weight of reconstructing the true state, which training may look at and a decision may not."""
    existence_weight: float = eqx.field(static=True, default=0.02)
    """Weight of the log likelihood of who exists, under the proposal."""
    sight: int = eqx.field(static=True, default=24)
    """Length of what is made of an observation, for every agent."""
    state: int = eqx.field(static=True, default=24)
    """Length of a state vector."""
    type_size: int = eqx.field(static=True, default=24)
    """Length of a type vector."""
    width: int = eqx.field(static=True, default=32)
    """Width of the belief's other layers; those that infer existence have half of it."""
    utility_width: int = eqx.field(static=True, default=48)
    """Width of both hidden layers of the networks that turn particles into values."""
    message_width: int = eqx.field(static=True, default=24)
    """Width of the action models' edge and node networks."""
    embedding: int = eqx.field(static=True, default=24)
    """Length of the action models' messages and node embeddings."""
    readout_width: int = eqx.field(static=True, default=16)
    """Width of the action models' read-outs."""

    def __check_init__(self) -> None:
        check_positive(self, "particles", "sight", "state", "type_size", "width")

    def belief(self, key: Key[Array, ""], spec: Spec) -> tuple[ParticleBelief, int]:
        belief = ParticleBelief(
            key, spec, particles=self.particles, sight=self.sight, state=self.state, type_size=self.type_size,
            width=self.width, learned_spread=self.learned_spread, resampling=self.resampling,
            over_slots=self.over_slots, agent=self.agent_sizes,
        )  # fmt: skip
        return belief, self.state + self.type_size

    @property
    def weights(self) -> dict[str, float]:
        return {
            "belief_loss": self.belief_weight,
            "state_loss": self.state_weight,
            "existence_loss": self.existence_weight,
        }
