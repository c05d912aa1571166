"""Which agents are joined by an edge."""

from typing import Literal

Graph = Literal["complete", "star"]
"""Every two agents, or the learner and each teammate only."""
