"""The state of every probe."""

from __future__ import annotations

from jaxtyping import Array, Bool, Int

from openteam.core.world import AbstractWorldState


class ProbeState(AbstractWorldState):
    """All of it is observed, unless the world shows actions only once."""

    present: Bool[Array, "slots"]
    lamp: Bool[Array, ""]  # drawn at the start of an episode
    last: Int[Array, "slots"]  # everybody's last action; -1 if it was not there
    left: Int[Array, ""]  # steps left
