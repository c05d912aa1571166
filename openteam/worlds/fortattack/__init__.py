"""FortAttack."""

from openteam.worlds.fortattack.arena import Arena
from openteam.worlds.fortattack.movement import Movement
from openteam.worlds.fortattack.rewards import DenseRewards, SparseRewards
from openteam.worlds.fortattack.shooting import Shooting
from openteam.worlds.fortattack.situation import situation
from openteam.worlds.fortattack.state import ACTION_NAMES, FortState
from openteam.worlds.fortattack.world import FortAttack

__all__ = [
    "ACTION_NAMES",
    "Arena",
    "DenseRewards",
    "FortAttack",
    "FortState",
    "Movement",
    "Shooting",
    "SparseRewards",
    "situation",
]
