"""Probes: tiny tasks with known optimal action values, for finding out what a learner cannot do."""

from openteam.probes.openness import Arrival
from openteam.probes.payoffs import (
    AbstractPayoff,
    Constant,
    Delayed,
    Lamp,
    Match,
    OwnAction,
    TeammateAction,
    TeammateJoins,
)
from openteam.probes.remember_teammate import FirstStepOnly, MaybePresent, RememberTeammate, remember_teammate
from openteam.probes.state import ProbeState
from openteam.probes.tasks import PROBES
from openteam.probes.teammates import ConstantPolicies, ConstantPolicy
from openteam.probes.world import Probe

__all__ = [
    "PROBES",
    "AbstractPayoff",
    "Arrival",
    "Constant",
    "ConstantPolicies",
    "ConstantPolicy",
    "Delayed",
    "FirstStepOnly",
    "Lamp",
    "Match",
    "MaybePresent",
    "OwnAction",
    "Probe",
    "ProbeState",
    "RememberTeammate",
    "TeammateAction",
    "TeammateJoins",
    "remember_teammate",
]
