"""Penalized Cooperative Navigation."""

from __future__ import annotations

from openteam.openness import Lifetimes
from openteam.task import Split, Task
from openteam.tasks.foraging import UNSEEN, released_lifetimes
from openteam.teammates import Navigators, Pool
from openteam.teammates.learned import Learned
from openteam.views import Window
from openteam.worlds.navigation import Navigation

RELEASED = Navigators(("H1", "H2", "H3", "H4", "avoids", "camps"))


def navigation_partial() -> Task:
    """Cooperative Navigation on a 12x12 grid; the learner sees the 5x5 cells around it."""
    return Task(
        name="navigation-partial",
        world=Navigation(),
        openness=Lifetimes(cap=3, start_low=3, start_high=3),
        pool=pool(),
        view=Window(),
        horizon=50,
        splits={
            "larger": Split(openness=Lifetimes(cap=5, start_low=2, start_high=5)),
            "unseen": Split(pool=pool(*UNSEEN)),
        },
    )


def navigation_partial_released() -> Task:
    """The same as in the released code: destinations are always visible, and at times there are more than two."""
    return Task(
        name="navigation-partial-released",
        world=Navigation(count_agents=True, most=5),
        openness=released_lifetimes(3, 3, 3),
        pool=Pool((RELEASED,)),
        view=Window(hide_objects=False, stretch=True),
        horizon=50,
        time_limit_terminates=True,
        splits={
            "larger": Split(openness=released_lifetimes(5, 5, 5)),
            "unseen": Split(pool=Pool((RELEASED, Learned("navigation", UNSEEN)))),
        },
    )


def navigation_practice() -> Task:
    """Navigation for joint training, without the penalty: with it, untrained teams learn to stay away."""
    return Task(
        name="navigation-practice",
        world=Navigation(penalty=0.0),
        openness=Lifetimes(cap=3, start_low=3, start_high=3),
        pool=Pool((Navigators(),)),
        horizon=50,
    )


def pool(*more: str) -> Pool:
    """The four scripted types, two learned ones, and ``more`` learned ones."""
    return Pool((Navigators(), Learned("navigation", ("ac-0", "ac-1", *more))))
