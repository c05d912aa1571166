"""Algorithms: values made of models and settings, in the order of the papers' algorithm boxes."""

from openteam.algorithms.control import QLearning, Schedule, SoftPolicyIteration
from openteam.algorithms.gpl import GPL

__all__ = ["GPL", "QLearning", "Schedule", "SoftPolicyIteration"]
