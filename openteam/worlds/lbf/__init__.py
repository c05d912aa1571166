"""Level-Based Foraging."""

from openteam.worlds.lbf.state import ACTION_NAMES, ForagingState
from openteam.worlds.lbf.world import Foraging

__all__ = ["ACTION_NAMES", "Foraging", "ForagingState"]
