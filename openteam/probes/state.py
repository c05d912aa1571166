"""The state of every probe."""

from __future__ import annotations

from jaxtyping import Array, Bool, Int

from openteam.core.world import AbstractWorldState


class ProbeState(AbstractWorldState):
    """All of it is seen, unless the world lets actions be seen only once."""

    present: Bool[Array, "slots"]
    lamp: Bool[Array, ""]  # drawn at the start of an episode
    last: Int[Array, "slots"]  # what each did a step ago; -1 if it was not there
    left: Int[Array, ""]  # steps to go
