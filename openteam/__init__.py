"""Open ad hoc teamwork: agents that join teams they have never met, whose members come and go."""

from openteam.algorithms import GPL, QLearning, Schedule, SoftPolicyIteration
from openteam.core.types import Observation, Spec, TimeStep, Truth
from openteam.errors import UserError
from openteam.evaluation import Episodes, evaluate
from openteam.evaluation.record import record, write_gif
from openteam.openness import Closed, Lifetimes
from openteam.registry import make, make_algorithm
from openteam.results import RunFolder, Trained, load, register
from openteam.task import Split, Task
from openteam.teammates import Foragers, Pool, UniformRandom
from openteam.training.driver import Run, resume, train
from openteam.views import FullView
from openteam.worlds import probes
from openteam.worlds.lbf import Foraging

register(*probes.CLASSES)
register(
    Closed,
    Foragers,
    Foraging,
    FullView,
    GPL,
    Lifetimes,
    Pool,
    QLearning,
    Schedule,
    SoftPolicyIteration,
    Split,
    Task,
    Trained,
)

__version__ = "0.1.0"
__all__ = [
    "GPL",
    "Closed",
    "Episodes",
    "Foragers",
    "Foraging",
    "FullView",
    "Lifetimes",
    "Observation",
    "Pool",
    "QLearning",
    "Run",
    "RunFolder",
    "Schedule",
    "SoftPolicyIteration",
    "Spec",
    "Split",
    "Task",
    "TimeStep",
    "Trained",
    "Truth",
    "UniformRandom",
    "UserError",
    "evaluate",
    "load",
    "make",
    "make_algorithm",
    "record",
    "register",
    "resume",
    "train",
    "write_gif",
]
