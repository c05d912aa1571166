"""What a stranger needs to know to read the picture of a world."""

from __future__ import annotations

from typing import Any

from openteam.worlds.fortattack import FortAttack
from openteam.worlds.lbf import Foraging
from openteam.worlds.navigation import Navigation
from openteam.worlds.wolfpack import Wolfpack

LEGENDS: dict[type, str] = {
    Foraging: "Agents that load beside an apple pick it if their levels (small circles) add up to its own. "
    "Crown: the learner.",
    Wolfpack: "Two or more hunters beside a rabbit catch it and are paid; one alone beside it pays. "
    "Crown: the learner.",
    Navigation: "Both targets must be covered at once; whoever waits on one alone pays. Crown: the learner.",
    FortAttack: "Guards (discs) keep attackers (squares) from the fort. Cone: a shot; cross: hit, out for a while; "
    "golden ring: the learner.",
}


def legend_of(world: Any) -> str:
    """The world's rules in a sentence or two, and what marks the learner; nothing of a world of one's own."""
    return LEGENDS.get(type(world), "")
