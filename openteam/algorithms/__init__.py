"""Algorithms: the wiring of models and a rule, one short file each."""

from openteam.algorithms.gpl import GPL
from openteam.algorithms.rules import QLearning, Schedule, SoftPolicyIteration

__all__ = ["GPL", "QLearning", "Schedule", "SoftPolicyIteration"]
