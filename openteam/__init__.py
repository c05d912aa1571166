"""Open ad hoc teamwork: agents that join teams they have never met, whose members come and go."""

from openteam import probes
from openteam.algorithms import GNN, GPL, QL, QLearning, Schedule, SoftPolicyIteration
from openteam.algorithms.cloning import Cloning
from openteam.algorithms.dgn import DGN
from openteam.algorithms.dvrl import DVRL
from openteam.algorithms.ippo import IPPO
from openteam.algorithms.maddpg import MADDPG
from openteam.algorithms.particle_gpl import ParticleGPL
from openteam.algorithms.ppo import PPO
from openteam.algorithms.recurrent_gpl import RecurrentGPL
from openteam.core.types import Observation, Spec, TimeStep, Truth
from openteam.drawing.record import record, write_gif
from openteam.errors import UserError
from openteam.openness import Bernoulli, Casualties, Closed, Lifetimes
from openteam.prey.evasion import Evasion
from openteam.prey.learned import LearnedPrey
from openteam.registry import make, make_algorithm
from openteam.rollout.episodes import Episodes, evaluate
from openteam.storage import RunFolder, load, register
from openteam.task import Split, Task
from openteam.teammates import Foragers, Hunters, Navigators, Pool, Uniform, UniformRandom
from openteam.teammates.learned import Learned
from openteam.teammates.trained import Trained
from openteam.training.driver import Run, resume, train
from openteam.views import FullView, Radius, Window
from openteam.worlds import fortattack, wolfpack
from openteam.worlds.fortattack import FortAttack
from openteam.worlds.lbf import Foraging
from openteam.worlds.navigation import Navigation
from openteam.worlds.wolfpack import Wolfpack

register(*probes.CLASSES)
register(Foraging, Navigation, Wolfpack, Evasion, FortAttack)
register(wolfpack.FleeingPrey, wolfpack.RandomPrey, LearnedPrey)
register(fortattack.Arena, fortattack.Movement, fortattack.Shooting, fortattack.SparseRewards, fortattack.DenseRewards)
register(Bernoulli, Casualties, Closed, Lifetimes)
register(FullView, Radius, Window)
register(Foragers, Hunters, Navigators, Uniform, Learned, Trained, Pool)
register(RecurrentGPL, ParticleGPL, PPO, DVRL)
register(GPL, QL, GNN, DGN, MADDPG, QLearning, SoftPolicyIteration, Schedule, IPPO, Cloning)
register(Split, Task)

__version__ = "0.1.0"
__all__ = [
    "DGN",
    "DVRL",
    "GNN",
    "GPL",
    "IPPO",
    "MADDPG",
    "PPO",
    "QL",
    "Bernoulli",
    "Casualties",
    "Cloning",
    "Closed",
    "Episodes",
    "Evasion",
    "Foragers",
    "Foraging",
    "FortAttack",
    "FullView",
    "Hunters",
    "Learned",
    "Lifetimes",
    "Navigation",
    "Navigators",
    "Observation",
    "Pool",
    "QLearning",
    "Radius",
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
    "Uniform",
    "UniformRandom",
    "UserError",
    "Window",
    "Wolfpack",
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
