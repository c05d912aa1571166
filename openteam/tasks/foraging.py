"""Level-Based Foraging, fully observed and through a window."""

from __future__ import annotations

from openteam.openness import Lifetimes
from openteam.task import Split, Task
from openteam.teammates import Foragers, Pool
from openteam.teammates.learned import Learned
from openteam.views import Window
from openteam.worlds.lbf import Foraging

RELEASED = Foragers(level_by_cell=True)
UNSEEN = tuple(f"unseen-{number}" for number in range(1, 9))


def lbf() -> Task:
    """Level-Based Foraging as in the paper: lifetimes 15-25, waits 10-20, a time limit that only truncates."""
    return Task(
        name="lbf",
        world=Foraging(),
        openness=Lifetimes(cap=3, start_low=3, start_high=3),
        pool=Pool((Foragers(), Learned("lbf", ("ac",)))),
        horizon=50,
        splits={
            "larger": Split(openness=Lifetimes(cap=5, start_low=2, start_high=5)),
            "five": Split(openness=Lifetimes(cap=5, start_low=5, start_high=5)),
        },
    )


def lbf_released() -> Task:
    """Level-Based Foraging as in the released code: shorter lifetimes, longer waits, never alone, a limit that ends."""
    return Task(
        name="lbf-released",
        world=Foraging(),
        openness=released_lifetimes(3, 3, 3),
        pool=Pool((RELEASED, Learned("lbf", ("ac",)))),
        horizon=50,
        time_limit_terminates=True,
        splits={
            "larger": Split(openness=released_lifetimes(5, 2, 5, cap_is_start=True)),
            "five": Split(openness=released_lifetimes(5, 5, 5)),
        },
    )


def lbf_partial() -> Task:
    """Level-Based Foraging on a 12x12 grid; the learner sees the 5x5 cells around it."""
    return Task(
        name="lbf-partial",
        world=Foraging(size=12),
        openness=Lifetimes(cap=3, start_low=3, start_high=3),
        pool=Pool((Foragers(), Learned("lbf", ("ac-12x12",)))),
        view=Window(),
        horizon=50,
        splits={
            "larger": Split(openness=Lifetimes(cap=5, start_low=2, start_high=5)),
            "five": Split(openness=Lifetimes(cap=5, start_low=5, start_high=5)),
            "unseen": Split(pool=with_unseen()),
        },
    )


def lbf_partial_released() -> Task:
    """The same with the released code's open process, and coordinates relative to the window's corner."""
    return Task(
        name="lbf-partial-released",
        world=Foraging(size=12),
        openness=released_lifetimes(3, 3, 3),
        pool=Pool((RELEASED, Learned("lbf", ("ac-12x12",)))),
        view=Window(coordinates="window", stretch=True),
        horizon=50,
        time_limit_terminates=True,
        splits={
            "larger": Split(openness=released_lifetimes(5, 2, 5, cap_is_start=True)),
            "five": Split(openness=released_lifetimes(5, 5, 5)),
            "unseen": Split(pool=with_unseen(RELEASED)),
        },
    )


def with_unseen(scripted: Foragers = Foragers()) -> Pool:
    """The types of the partial tasks and eight types that are not in training."""
    return Pool((scripted, Learned("lbf", ("ac-12x12", *UNSEEN))))


def released_lifetimes(cap: int, start_low: int, start_high: int, cap_is_start: bool = False) -> Lifetimes:
    """The open process of the released Level-Based Foraging and Navigation."""
    return Lifetimes(
        cap=cap, start_low=start_low, start_high=start_high, cap_is_start=cap_is_start,
        lifetime=(11, 20), wait=(16, 25), grace=1, min_teammates=1,
    )  # fmt: skip
