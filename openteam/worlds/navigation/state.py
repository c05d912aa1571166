"""The state of Penalized Cooperative Navigation and its actions."""

from __future__ import annotations

from jaxtyping import Array, Bool, Int

from openteam.core.world import AbstractWorldState

ACTION_NAMES = ("none", "north", "south", "west", "east")
DESTINATIONS = 2
HIDDEN = -1  # the row and column of a destination that a view does not show, and of a place without one


class NavigationState(AbstractWorldState):
    """Positions are (row, column). Destinations are in row-major order, places without one last."""

    present: Bool[Array, "slots"]
    position: Int[Array, "slots 2"]
    destination: Int[Array, "destinations 2"]
