"""Penalized Cooperative Navigation."""

from openteam.worlds.navigation.state import ACTION_NAMES, NavigationState
from openteam.worlds.navigation.world import Navigation

__all__ = ["ACTION_NAMES", "Navigation", "NavigationState"]
