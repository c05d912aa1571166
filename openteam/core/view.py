"""What an agent may see."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.types import Observation
from openteam.core.world import AbstractWorld


class AbstractView(eqx.Module):
    """From a world's state to the observation of the agent in one slot, who becomes row 0."""

    @abstractmethod
    def __call__(
        self, key: Key[Array, ""], world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]
    ) -> Observation:
        """Look."""

    @abstractmethod
    def sees(self, world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]) -> Bool[Array, "rows columns"]:
        """What of the world's picture is in sight, as a coarse mask: an entry a cell of a grid, or one for all."""


def viewer_first(rows: Array, viewer: Int[Array, ""]) -> Array:
    """Swap row 0 and the viewer's row."""
    index = jnp.arange(len(rows))
    return rows[jnp.where(index == 0, viewer, jnp.where(index == viewer, 0, index))]
