"""Wolfpack, fully observed and within a radius; and a variant in which prey are trained."""

from __future__ import annotations

import dataclasses

from openteam.core.view import AbstractView
from openteam.openness import Bernoulli, Closed, Lifetimes
from openteam.prey.evasion import Evasion
from openteam.prey.learned import LearnedPrey
from openteam.task import Split, Task
from openteam.tasks.foraging import UNSEEN
from openteam.teammates import Hunters, Pool, Uniform
from openteam.teammates.learned import Learned
from openteam.views import FullView, Radius
from openteam.worlds.wolfpack import CautiousPrey, Wolfpack

RELEASED = Hunters(drifts=True, retreats_blindly=True)


def wolfpack(name: str = "wolfpack", view: AbstractView = FullView()) -> Task:
    """Wolfpack as in the paper: lifetimes 25-35, waits 15-25, rewards without shaping."""
    return Task(
        name=name,
        world=Wolfpack(),
        openness=lifetimes(3, 3, 3),
        pool=hunters(Hunters()),
        view=view,
        horizon=200,
        splits={"larger": Split(openness=lifetimes(5, 2, 5))},
    )


def wolfpack_released(name: str = "wolfpack-released", view: AbstractView = FullView()) -> Task:
    """Wolfpack as in the released code: random departures and arrivals, prey that let single hunters come near."""
    return Task(
        name=name,
        world=Wolfpack(behaviour=CautiousPrey(), shaping=0.01, returns_elsewhere=True),
        openness=Bernoulli(cap=3),
        pool=hunters(RELEASED),
        view=view,
        horizon=200,
        time_limit_terminates=True,
        splits={"larger": Split(openness=Bernoulli(cap=5))},
    )


def wolfpack_evaders() -> Task:
    """Wolfpack as in the released code, with learned prey instead of scripted ones."""
    task = wolfpack_released("wolfpack-evaders")
    return dataclasses.replace(task, world=dataclasses.replace(task.world, behaviour=LearnedPrey()))


def wolfpack_partial() -> Task:
    """Wolfpack; the learner sees what is within a distance of three."""
    return with_unseen(wolfpack("wolfpack-partial", Radius()), Hunters())


def wolfpack_partial_released() -> Task:
    """The same as in the released code, where visible prey may seem one cell off."""
    return with_unseen(wolfpack_released("wolfpack-partial-released", Radius(object_noise=0.2)), RELEASED)


def wolfpack_practice() -> Task:
    """Wolfpack for joint training, without the penalty: with it, untrained teams learn to stay away."""
    return Task(
        name="wolfpack-practice",
        world=Wolfpack(close_penalty=0.0, shaping=0.01),
        openness=lifetimes(3, 3, 3),
        pool=Pool((Hunters(),)),
        horizon=200,
    )


def evasion() -> Task:
    """Wolfpack with the prey as agents, chased by two scripted hunters."""
    world = Evasion(hunters=Pool((Hunters(),)), fewest=2, most=2)
    return Task(name="evasion", world=world, openness=Closed(2), pool=Pool((Uniform(),)), horizon=200)


def lifetimes(cap: int, start_low: int, start_high: int) -> Lifetimes:
    """The paper's open process of Wolfpack."""
    return Lifetimes(cap=cap, start_low=start_low, start_high=start_high, lifetime=(25, 35), wait=(15, 25))


def hunters(scripted: Hunters, *more: str) -> Pool:
    """The seven scripted types, two learned ones, and ``more`` learned ones."""
    return Pool((scripted, Learned("wolfpack", ("teammate-aware-clone", "learned", *more))))


def with_unseen(task: Task, scripted: Hunters) -> Task:
    """The same task with a split that adds eight types which are not in training."""
    return dataclasses.replace(task, splits=task.splits | {"unseen": Split(pool=hunters(scripted, *UNSEEN))})
