"""FortAttack, and its variant in which both sides are trained."""

from __future__ import annotations

from openteam.openness import Casualties
from openteam.task import Split, Task
from openteam.teammates import Pool, Uniform
from openteam.teammates.learned import Learned
from openteam.worlds.fortattack import Arena, DenseRewards, FortAttack, Shooting, SparseRewards

RELEASED = FortAttack(
    arena=Arena(half_height=0.8),
    shooting=Shooting(closest=0.0),
    rewards=SparseRewards(outcome=10.0, hit=3.0, shot=0.1),
)


def fortattack() -> Task:
    """FortAttack as the paper tells it: three guards, the learner among them, against three attackers."""
    return Task(
        name="fortattack",
        world=FortAttack(),
        openness=Casualties(places=3, guards=3, attackers=3),
        pool=Pool((Learned("fortattack"),)),
        horizon=100,
        time_limit_terminates=True,
        splits={"larger": Split(openness=Casualties(places=5, guards=5, attackers=5))},
    )


def fortattack_released() -> Task:
    """FortAttack as the released code plays it: a lower arena, rewards ten times as large, one type per team."""
    return Task(
        name="fortattack-released",
        world=RELEASED,
        openness=Casualties(places=3, guards=3, attackers=3),
        pool=Pool((Learned("fortattack"),), teams=2, redraw=False),
        horizon=100,
        time_limit_terminates=True,
        splits={"larger": Split(openness=Casualties(places=5, guards=5, attackers=5))},
    )


def fortattack_duel() -> Task:
    """FortAttack for joint training: dense rewards for both sides, and a hit on slot 0 ends nothing."""
    return Task(
        name="fortattack-duel",
        world=FortAttack(rewards=DenseRewards(siege=5.0), learner_hit_ends=False),
        openness=Casualties(places=3, guards=3, attackers=3, learner_stays=False),
        pool=Pool((Uniform(),)),
        horizon=100,
        time_limit_terminates=True,
    )
