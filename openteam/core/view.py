"""What an agent may see."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from openteam.core.checked import AbstractChecked
from openteam.core.types import Observation, View
from openteam.core.world import AbstractWorld


class AbstractView(AbstractChecked):
    """From a world's state to the observation of the agent in one slot, who becomes row 0."""

    @abstractmethod
    def __call__(
        self, key: Key[Array, ""], world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]
    ) -> Observation:
        """What the agent in slot ``viewer`` observes."""

    @abstractmethod
    def sees(self, world: AbstractWorld[Any], state: Any, viewer: Int[Array, ""]) -> Bool[Array, "rows columns"]:
        """Which cells of a grid are in sight, for pictures; one entry for all if the world has no cells."""


def viewer_first(rows: Array, viewer: Int[Array, ""]) -> Array:
    """Swap row 0 and the viewer's row."""
    index = jnp.arange(len(rows))
    return rows[jnp.where(index == 0, viewer, jnp.where(index == viewer, 0, index))]


def teammates_views(obs: Observation, arrived: Bool[Array, "slots"], previous_actions: Int[Array, "slots"]) -> View:
    """The views of everybody who sees everything, ``obs`` having a row per viewer: a newcomer is new to all, and all
    are new to it."""
    new = jax.vmap(viewer_first, (None, 0))(arrived, jnp.arange(len(arrived))) | arrived[:, None]
    return View(obs, arrived, obs.visible & new, previous_actions)


def meet(
    visits: Int[Array, "slots"], last_seen: Int[Array, "slots"], visible: Bool[Array, "slots"]
) -> tuple[Bool[Array, "slots"], Int[Array, "slots"]]:
    """Who is new to a viewer, and whom it has last seen in every slot after this.

    A slot's visit is a number that changes with its occupant. Only a visible occupant can be recognised or met.
    """
    return visible & (visits != last_seen), jnp.where(visible, visits, last_seen)
