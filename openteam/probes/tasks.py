"""The probes as tasks: a learner that fails one of them has a bug, and which one it fails says where to look."""

from __future__ import annotations

from openteam.probes.openness import Arrival
from openteam.probes.payoffs import (
    Company,
    Constant,
    Delayed,
    Lamp,
    Match,
    OwnAction,
    TeammateAction,
)
from openteam.probes.teammates import Stubborns
from openteam.probes.world import Probe
from openteam.task import Task
from openteam.teammates.pool import Pool


def probe_task(name: str, world: Probe, joins_after: int = 0) -> Task:
    """A probe with a teammate of either type; the world itself says when it is over."""
    return Task(name=name, world=world, openness=Arrival(joins_after), pool=Pool((Stubborns(),)))


def constant() -> Task:
    """One step, reward 1."""
    return probe_task("probe-constant", Probe(Constant()))


def lamp() -> Task:
    """One step; the reward can be seen."""
    return probe_task("probe-lamp", Probe(Lamp()))


def delayed() -> Task:
    """Four steps, and the reward in the last."""
    return probe_task("probe-delayed", Probe(Delayed(), length=4))


def own_action() -> Task:
    """One step; the learner's action is the reward."""
    return probe_task("probe-own-action", Probe(OwnAction()))


def teammate_action() -> Task:
    """Two steps; the teammate's action is the reward, and known in the second."""
    return probe_task("probe-teammate-action", Probe(TeammateAction(), length=2))


def match() -> Task:
    """Three steps: guess what the teammate does, see it, and remember it once it is hidden again."""
    return probe_task("probe-match", Probe(Match(), length=3, glimpse=True))


def company() -> Task:
    """Four steps; a teammate joins after two, and what was right becomes wrong."""
    return probe_task("probe-company", Probe(Company(), length=4), joins_after=2)


PROBES = {task.__name__: task for task in (constant, lamp, delayed, own_action, teammate_action, match, company)}
