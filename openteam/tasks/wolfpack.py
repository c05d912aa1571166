"""Wolfpack, seen in full and within a radius; and its other side, in which prey are trained."""

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
from openteam.worlds.wolfpack import Wolfpack


def wolfpack(name: str = "wolfpack", view: AbstractView = FullView()) -> Task:
    """Wolfpack as the paper tells it: lifetimes 25-35, waits 15-25, rewards for captures only."""
    return Task(
        name=name,
        world=Wolfpack(),
        openness=lifetimes(3, 3, 3),
        pool=hunters(),
        view=view,
        horizon=200,
        splits={"larger": Split(openness=lifetimes(5, 2, 5))},
    )


def wolfpack_released(name: str = "wolfpack-released", view: AbstractView = FullView()) -> Task:
    """Wolfpack as the released code plays it: chance departures and arrivals, a small reward for getting nearer."""
    return Task(
        name=name,
        world=Wolfpack(shaping=0.01),
        openness=Bernoulli(cap=3),
        pool=hunters(),
        view=view,
        horizon=200,
        time_limit_terminates=True,
        splits={"larger": Split(openness=Bernoulli(cap=5))},
    )


def wolfpack_evaders() -> Task:
    """Wolfpack as the released code plays it, with prey that learned to evade instead of the scripted ones."""
    task = wolfpack_released("wolfpack-evaders")
    return dataclasses.replace(task, world=dataclasses.replace(task.world, behaviour=LearnedPrey()))


def wolfpack_partial() -> Task:
    """Wolfpack of which the learner sees what is within three steps."""
    return with_strangers(wolfpack("wolfpack-partial", Radius()))


def wolfpack_partial_released() -> Task:
    """The same as the released code plays it, where prey in sight may seem one cell off."""
    return with_strangers(wolfpack_released("wolfpack-partial-released", Radius(object_noise=0.2)))


def wolfpack_practice() -> Task:
    """Wolfpack for joint training: being near a prey alone costs nothing, for else nobody ever tries."""
    return Task(
        name="wolfpack-practice",
        world=Wolfpack(close_penalty=0.0, shaping=0.01),
        openness=lifetimes(3, 3, 3),
        pool=Pool((Hunters(),)),
        horizon=200,
    )


def evasion() -> Task:
    """Wolfpack's prey as agents, hunted by two scripted hunters: here the prey are trained."""
    world = Evasion(hunters=Pool((Hunters(),)), fewest=2, most=2)
    return Task(name="evasion", world=world, openness=Closed(2), pool=Pool((Uniform(),)), horizon=200)


def lifetimes(cap: int, start_low: int, start_high: int) -> Lifetimes:
    """The paper's open process of Wolfpack."""
    return Lifetimes(cap=cap, start_low=start_low, start_high=start_high, lifetime=(25, 35), wait=(15, 25))


def hunters(*more: str) -> Pool:
    """The seven scripts, two learned types, and more of these."""
    return Pool((Hunters(), Learned("wolfpack", ("teammate-aware-clone", "learned", *more))))


def with_strangers(task: Task) -> Task:
    """The same task with a split in which eight types appear that training never meets."""
    return dataclasses.replace(task, splits=task.splits | {"unseen": Split(pool=hunters(*UNSEEN))})
