"""An observation as one vector of fixed length, for learners that know no teams (paper, appendix "Baselines")."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from openteam.core.types import Observation, Spec
from openteam.models.placed_value import ABSENT
from openteam.models.places import Placed, Places


class Flat(eqx.Module):
    """Everybody's features at fixed places, a placeholder where nobody is seen, then the shared features."""

    places: Places

    def size(self, spec: Spec) -> int:
        return self.places.count * spec.agent_features + spec.shared_features

    def start(self, slots: int) -> Placed:
        return self.places.start(slots)

    def step(self, placed: Placed, obs: Observation, fresh: Bool[Array, "slots"]) -> Placed:
        """Who sits where, after one more observation.

        That somebody joined out of sight is nothing the learner may be told. So only who arrives in sight is given a
        new place; who is first seen later sits where the last one in its slot sat. An episode's start is no secret:
        everybody is given a place then.
        """
        starts = fresh[0]  # the learner itself never joins on the way
        return self.places.step(placed, obs, fresh & (obs.visible | starts))

    def __call__(self, obs: Observation, place: Int[Array, "slots"]) -> Float[Array, "inputs"]:
        rows = self.places.arrange(obs.agents, place, obs.visible, ABSENT)
        return jnp.concatenate([rows.reshape(-1), obs.shared])
