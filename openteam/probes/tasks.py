"""The probes as tasks. A learner that fails one has a bug, and which one it fails says where."""

from __future__ import annotations

from openteam.probes.openness import Arrival
from openteam.probes.payoffs import (
    Constant,
    Delayed,
    Lamp,
    Match,
    OwnAction,
    TeammateAction,
    TeammateJoins,
)
from openteam.probes.teammates import ConstantPolicies
from openteam.probes.world import Probe
from openteam.task import Task
from openteam.teammates.pool import Pool


def probe_task(name: str, world: Probe, joins_after: int = 0) -> Task:
    """A probe with a teammate of either type. The world itself ends the episode."""
    return Task(name=name, world=world, openness=Arrival(joins_after), pool=Pool((ConstantPolicies(),)))


def constant() -> Task:
    """One step, reward 1."""
    return probe_task("probe-constant", Probe(Constant()))


def lamp() -> Task:
    """One step; the reward is in the observation."""
    return probe_task("probe-lamp", Probe(Lamp()))


def delayed() -> Task:
    """Four steps, with the reward in the last."""
    return probe_task("probe-delayed", Probe(Delayed(), length=4))


def own_action() -> Task:
    """One step; the learner's action is the reward."""
    return probe_task("probe-own-action", Probe(OwnAction()))


def teammate_action() -> Task:
    """Two steps; the teammate's action is the reward, and is known in the second."""
    return probe_task("probe-teammate-action", Probe(TeammateAction(), length=2))


def match() -> Task:
    """Three steps: guess the teammate's action, see it, and remember it when it is hidden again."""
    return probe_task("probe-match", Probe(Match(), length=3, show_actions_once=True))


def teammate_joins() -> Task:
    """Four steps; a teammate joins after two, and the right action becomes the wrong one."""
    return probe_task("probe-teammate-joins", Probe(TeammateJoins(), length=4), joins_after=2)


PROBES = {task.__name__: task for task in (constant, lamp, delayed, own_action, teammate_action, match, teammate_joins)}
