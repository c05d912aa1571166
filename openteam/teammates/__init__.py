"""Teammates: scripted and learned families, and the pool that draws from them."""

from openteam.teammates.foragers import Forager, Foragers
from openteam.teammates.hunters import Hunter, Hunters
from openteam.teammates.navigators import Navigator, Navigators
from openteam.teammates.pool import AbstractFamily, Pool
from openteam.teammates.uniform import Uniform, UniformRandom

__all__ = [
    "AbstractFamily",
    "Forager",
    "Foragers",
    "Hunter",
    "Hunters",
    "Navigator",
    "Navigators",
    "Pool",
    "Uniform",
    "UniformRandom",
]
