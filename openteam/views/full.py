"""Seeing everything."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.types import Observation
from openteam.core.view import AbstractView, viewer_first
from openteam.core.world import AbstractWorld


class FullView(AbstractView):
    """Everyone present is visible, everything is exact. The rows of the viewer and of slot 0 are swapped."""

    def __call__(
        self, key: Key[Array, ""], world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]
    ) -> Observation:
        del key
        return observe(world, state, state, viewer)

    def sees(self, world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]) -> Bool[Array, "rows columns"]:
        del world, state, viewer
        return jnp.ones((1, 1), bool)


def observe(world: AbstractWorld[Any], state: Any, shown: Any, viewer: Int[Array, ""]) -> Observation:
    """The observation of a viewer to whom ``state`` appears as ``shown``. Legal actions are those of the true state."""
    agents, shared = world.features(shown)
    return Observation(
        agents=viewer_first(agents, viewer),
        shared=shared,
        visible=viewer_first(shown.present, viewer),
        legal=world.legal(state)[viewer],
    )
