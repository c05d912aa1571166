"""Wolfpack."""

from openteam.worlds.wolfpack.prey import AbstractPrey, CautiousPrey, FleeingPrey, RandomPrey
from openteam.worlds.wolfpack.state import ACTION_NAMES, PREY_ACTION_NAMES, WolfpackState
from openteam.worlds.wolfpack.world import Wolfpack

__all__ = [
    "ACTION_NAMES",
    "PREY_ACTION_NAMES",
    "AbstractPrey",
    "CautiousPrey",
    "FleeingPrey",
    "RandomPrey",
    "Wolfpack",
    "WolfpackState",
]
