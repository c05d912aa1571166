"""Teammates: scripted and learned families, and the pool that draws from them."""

from openteam.teammates.foragers import Forager, Foragers
from openteam.teammates.pool import AbstractFamily, Pool
from openteam.teammates.uniform import UniformRandom

__all__ = ["AbstractFamily", "Forager", "Foragers", "Pool", "UniformRandom"]
