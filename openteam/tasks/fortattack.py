"""FortAttack, and a variant for training both sides."""

from __future__ import annotations

import dataclasses

from openteam.openness import Casualties
from openteam.task import Split, Task
from openteam.teammates import Pool, Uniform
from openteam.teammates.learned import Learned
from openteam.teammates.wrapped_angles import WrappedAngles
from openteam.worlds.fortattack import Arena, DenseRewards, FortAttack, Movement, Shooting, SparseRewards

RELEASED = FortAttack(
    arena=Arena(half_height=0.8),
    movement=Movement(wrap_angle=False),
    shooting=Shooting(closest=0.0, slack=0.0),
    rewards=SparseRewards(outcome=10.0, hit=3.0, shot=0.1, paid_at_the_end=True),
)


def fortattack() -> Task:
    """FortAttack as in the paper: three guards, one of them the learner, against three attackers."""
    return Task(
        name="fortattack",
        world=FortAttack(),
        openness=Casualties(team_size=3, guards=3, attackers=3),
        pool=Pool((Learned("fortattack"),)),
        horizon=100,
        time_limit_terminates=True,
        splits={"larger": Split(openness=Casualties(team_size=5, guards=5, attackers=5))},
    )


def fortattack_released() -> Task:
    """FortAttack as in the released code: a lower arena, growing angles, tenfold rewards, one type per team."""
    return Task(
        name="fortattack-released",
        world=RELEASED,
        openness=Casualties(team_size=3, guards=3, attackers=3),
        pool=Pool((WrappedAngles(Learned("fortattack-released")),), teams=2, redraw=False),
        horizon=100,
        time_limit_terminates=True,
        splits={"larger": Split(openness=Casualties(team_size=5, guards=5, attackers=5))},
    )


def fortattack_duel(name: str = "fortattack-duel", world: FortAttack = FortAttack()) -> Task:
    """FortAttack for joint training: shaped rewards for both sides, and a hit on slot 0 does not end the game."""
    return Task(
        name=name,
        world=dataclasses.replace(world, rewards=DenseRewards(siege=5.0), learner_hit_ends=False),
        openness=Casualties(team_size=3, guards=3, attackers=3, learner_stays=False),
        pool=Pool((Uniform(),)),
        horizon=100,
        time_limit_terminates=True,
    )


def fortattack_duel_released() -> Task:
    """The same in the released code's arena, with its times out; angles are as its types read them, wrapped."""
    return fortattack_duel("fortattack-duel-released", dataclasses.replace(RELEASED, movement=Movement()))
