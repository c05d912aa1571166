"""Open processes: who is here, who leaves, who joins."""

from openteam.openness.closed import Closed
from openteam.openness.lifetimes import Lifetimes

__all__ = ["Closed", "Lifetimes"]
