"""Short runs of a long schedule."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from openteam.core.learner import AbstractLearner

Learner = TypeVar("Learner", bound=AbstractLearner)


def compressed(learner: Learner, steps: int, reference: int) -> Learner:
    """The learner of a run of ``steps`` that stands for one of ``reference``: target_rate times reference / steps.

    Every schedule is a function of a run's progress, so a short run has the whole of it. A target network moves by a
    fixed fraction per update instead: with the paper's 0.001, a quarter of the paper's 6.4 million steps are 25 of its
    time constants, not 100; with 0.004 they are 100 again. A learner without a target network, or a run no shorter than
    the reference, stays as it is. What a run's configuration says is the rate that was used.
    """
    rate = getattr(learner, "target_rate", None)
    if rate is None or steps >= reference:
        return learner
    return dataclasses.replace(learner, target_rate=min(1.0, rate * reference / steps))
