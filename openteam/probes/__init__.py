"""Probes: tiny worlds whose best action values are known, for finding out what a learner cannot do."""

from openteam.probes.openness import Arrival
from openteam.probes.payoffs import (
    AbstractPayoff,
    Company,
    Constant,
    Delayed,
    Lamp,
    Match,
    OwnAction,
    TeammateAction,
)
from openteam.probes.state import ProbeState
from openteam.probes.tasks import PROBES
from openteam.probes.teammates import Stubborn, Stubborns
from openteam.probes.vigil import Glance, Perhaps, Vigil, vigil
from openteam.probes.world import Probe

CLASSES = (
    Arrival, Company, Constant, Delayed, Glance, Lamp, Match, OwnAction, Perhaps, Probe, Stubborns, TeammateAction,
    Vigil,
)  # fmt: skip

__all__ = [
    "CLASSES",
    "PROBES",
    "AbstractPayoff",
    "Arrival",
    "Company",
    "Constant",
    "Delayed",
    "Glance",
    "Lamp",
    "Match",
    "OwnAction",
    "Perhaps",
    "Probe",
    "ProbeState",
    "Stubborn",
    "Stubborns",
    "TeammateAction",
    "Vigil",
    "vigil",
]
