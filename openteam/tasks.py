"""The named tasks: plain values. ``<task>`` follows the paper's text, ``<task>-released`` its released code."""

from __future__ import annotations

from collections.abc import Callable

from openteam.openness import Lifetimes
from openteam.task import Split, Task
from openteam.teammates import Foragers, Pool
from openteam.worlds.lbf import Foraging
from openteam.worlds.probes import PROBES


def lbf() -> Task:
    """Level-Based Foraging as the paper tells it: lifetimes 15-25, waits 10-20, a time limit that is only a limit."""
    return Task(
        name="lbf",
        world=Foraging(),
        openness=Lifetimes(cap=3, start_low=3, start_high=3),
        pool=Pool((Foragers(),)),
        horizon=50,
        time_limit_terminates=False,
        splits={"larger": Split(openness=Lifetimes(cap=5, start_low=2, start_high=5))},
    )


def lbf_released() -> Task:
    """Level-Based Foraging as the released code plays it: shorter lives, longer waits, never alone, a hard end."""

    def lifetimes(cap: int, start_low: int, start_high: int, cap_is_start: bool = False) -> Lifetimes:
        return Lifetimes(
            cap=cap, start_low=start_low, start_high=start_high, cap_is_start=cap_is_start,
            lifetime=(11, 20), wait=(16, 25), grace=1, company=1,
        )  # fmt: skip

    return Task(
        name="lbf-released",
        world=Foraging(),
        openness=lifetimes(3, 3, 3),
        pool=Pool((Foragers(),)),
        horizon=50,
        time_limit_terminates=True,
        splits={
            "larger": Split(openness=lifetimes(5, 2, 5, cap_is_start=True)),
            "five": Split(openness=lifetimes(5, 5, 5)),
        },
    )


TASKS: dict[str, Callable[[], Task]] = {
    "lbf": lbf,
    "lbf-released": lbf_released,
    **{f"probe-{name.replace('_', '-')}": build for name, build in PROBES.items()},
}
