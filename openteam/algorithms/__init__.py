"""Algorithms: the wiring of models and a rule, one short file each."""

from openteam.algorithms.gnn import GNN
from openteam.algorithms.gpl import GPL
from openteam.algorithms.ql import QL
from openteam.algorithms.rules import QLearning, Schedule, SoftPolicyIteration

__all__ = ["GNN", "GPL", "QL", "QLearning", "Schedule", "SoftPolicyIteration"]
