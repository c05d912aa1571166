"""Open processes: who is here, who leaves, who joins."""

from openteam.openness.bernoulli import Bernoulli
from openteam.openness.casualties import Casualties
from openteam.openness.closed import Closed
from openteam.openness.lifetimes import Lifetimes

__all__ = ["Bernoulli", "Casualties", "Closed", "Lifetimes"]
