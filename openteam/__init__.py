"""Open ad hoc teamwork: agents that join teams they have never met, whose members come and go."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openteam.algorithms.belief_gpl import BeliefGPL
    from openteam.algorithms.beliefs import Autoencoder, ParticleFilter, VariationalAutoencoder
    from openteam.algorithms.cloning import Cloning
    from openteam.algorithms.control import QLearning, Schedule, SoftPolicyIteration
    from openteam.algorithms.dgn import DGN
    from openteam.algorithms.dvrl import DVRL
    from openteam.algorithms.flat_ql import FlatQL
    from openteam.algorithms.gpl import GPL
    from openteam.algorithms.maddpg import MADDPG
    from openteam.algorithms.ppo import PPO
    from openteam.algorithms.replay import ReplayBuffer
    from openteam.api import Run, evaluate, load, record, resume, train
    from openteam.core.learner import AbstractLearner, TrainState
    from openteam.core.memory import Memory
    from openteam.core.openness import AbstractOpenness
    from openteam.core.policy import AbstractMemoryless, AbstractPolicy, Belief, Decision, Explanation
    from openteam.core.sides import Sides
    from openteam.core.types import Chunk, Observation, Spec, TimeStep, Truth, View
    from openteam.core.view import AbstractView
    from openteam.core.world import AbstractWorld, AbstractWorldState
    from openteam.deploy.agent import Agent
    from openteam.deploy.export import export
    from openteam.deploy.pack import pack
    from openteam.drawing.record import Recording, write_gif
    from openteam.errors import UserError
    from openteam.host.task import HostSplit, HostTask
    from openteam.models.actor_critic import FlatNetworks, SetNetworks
    from openteam.models.agent import AgentModelSizes
    from openteam.models.attention_head import AttentionHead
    from openteam.models.belief.existence import AssumedExistence, ExpectedExistence, SampledExistence
    from openteam.models.belief.latent_models import ParticleModels
    from openteam.models.belief.particle_belief import ParticleSizes
    from openteam.models.belief.particle_weight import ParticleWeights
    from openteam.models.belief.recurrent import AutoencoderSizes
    from openteam.models.belief.resampling import Multinomial, Systematic
    from openteam.models.coordination_graph import CoordinationGraph
    from openteam.models.fixed_slot_head import FixedSlotHead
    from openteam.models.joint_value import Factored, PerEdge, Signed, Star
    from openteam.openness import Bernoulli, Casualties, Closed, Lifetimes
    from openteam.prey.evasion import Evasion
    from openteam.prey.learned import LearnedPrey
    from openteam.registry import make, make_algorithm
    from openteam.rollout.episodes import Episodes
    from openteam.storage.run_folder import RunFolder
    from openteam.task import Split, Task
    from openteam.teammates import AbstractFamily, Foragers, Hunters, Navigators, Pool, Uniform, UniformRandom
    from openteam.teammates.learned import Learned
    from openteam.teammates.trained import Trained
    from openteam.viewer.notebook import show
    from openteam.views import FullView, Radius, Window
    from openteam.worlds.fortattack import FortAttack
    from openteam.worlds.lbf import Foraging
    from openteam.worlds.navigation import Navigation
    from openteam.worlds.wolfpack import Wolfpack

__version__ = "0.1.0"
__all__ = [
    "DGN",
    "DVRL",
    "GPL",
    "MADDPG",
    "PPO",
    "AbstractFamily",
    "AbstractLearner",
    "AbstractMemoryless",
    "AbstractOpenness",
    "AbstractPolicy",
    "AbstractView",
    "AbstractWorld",
    "AbstractWorldState",
    "Agent",
    "AgentModelSizes",
    "AssumedExistence",
    "AttentionHead",
    "Autoencoder",
    "AutoencoderSizes",
    "Belief",
    "BeliefGPL",
    "Bernoulli",
    "Casualties",
    "Chunk",
    "Cloning",
    "Closed",
    "CoordinationGraph",
    "Decision",
    "Episodes",
    "Evasion",
    "ExpectedExistence",
    "Explanation",
    "Factored",
    "FixedSlotHead",
    "FlatNetworks",
    "FlatQL",
    "Foragers",
    "Foraging",
    "FortAttack",
    "FullView",
    "HostSplit",
    "HostTask",
    "Hunters",
    "Learned",
    "LearnedPrey",
    "Lifetimes",
    "Memory",
    "Multinomial",
    "Navigation",
    "Navigators",
    "Observation",
    "ParticleFilter",
    "ParticleModels",
    "ParticleSizes",
    "ParticleWeights",
    "PerEdge",
    "Pool",
    "QLearning",
    "Radius",
    "Recording",
    "ReplayBuffer",
    "Run",
    "RunFolder",
    "SampledExistence",
    "Schedule",
    "SetNetworks",
    "Sides",
    "Signed",
    "SoftPolicyIteration",
    "Spec",
    "Split",
    "Star",
    "Systematic",
    "Task",
    "TimeStep",
    "TrainState",
    "Trained",
    "Truth",
    "Uniform",
    "UniformRandom",
    "UserError",
    "VariationalAutoencoder",
    "View",
    "Window",
    "Wolfpack",
    "evaluate",
    "export",
    "load",
    "make",
    "make_algorithm",
    "pack",
    "record",
    "resume",
    "show",
    "train",
    "write_gif",
]

_HOMES = {
    name: f"openteam.{module}"
    for module, names in {
        "algorithms.belief_gpl": "BeliefGPL",
        "algorithms.beliefs": "Autoencoder ParticleFilter VariationalAutoencoder",
        "algorithms.cloning": "Cloning",
        "algorithms.control": "QLearning Schedule SoftPolicyIteration",
        "algorithms.dgn": "DGN",
        "algorithms.dvrl": "DVRL",
        "algorithms.flat_ql": "FlatQL",
        "algorithms.gpl": "GPL",
        "algorithms.maddpg": "MADDPG",
        "algorithms.ppo": "PPO",
        "algorithms.replay": "ReplayBuffer",
        "api": "Run evaluate load record resume train",
        "core.learner": "AbstractLearner TrainState",
        "core.memory": "Memory",
        "core.openness": "AbstractOpenness",
        "core.policy": "AbstractMemoryless AbstractPolicy Belief Decision Explanation",
        "core.sides": "Sides",
        "core.types": "Chunk Observation Spec TimeStep Truth View",
        "core.view": "AbstractView",
        "core.world": "AbstractWorld AbstractWorldState",
        "deploy.agent": "Agent",
        "deploy.export": "export",
        "deploy.pack": "pack",
        "drawing.record": "Recording write_gif",
        "errors": "UserError",
        "host.task": "HostSplit HostTask",
        "models.actor_critic": "FlatNetworks SetNetworks",
        "models.agent": "AgentModelSizes",
        "models.attention_head": "AttentionHead",
        "models.belief.existence": "AssumedExistence ExpectedExistence SampledExistence",
        "models.belief.latent_models": "ParticleModels",
        "models.belief.particle_belief": "ParticleSizes",
        "models.belief.particle_weight": "ParticleWeights",
        "models.belief.recurrent": "AutoencoderSizes",
        "models.belief.resampling": "Multinomial Systematic",
        "models.coordination_graph": "CoordinationGraph",
        "models.fixed_slot_head": "FixedSlotHead",
        "models.joint_value": "Factored PerEdge Signed Star",
        "openness": "Bernoulli Casualties Closed Lifetimes",
        "prey.evasion": "Evasion",
        "prey.learned": "LearnedPrey",
        "registry": "make make_algorithm",
        "rollout.episodes": "Episodes",
        "storage.run_folder": "RunFolder",
        "task": "Split Task",
        "teammates": "AbstractFamily Foragers Hunters Navigators Pool Uniform UniformRandom",
        "teammates.learned": "Learned",
        "teammates.trained": "Trained",
        "viewer.notebook": "show",
        "views": "FullView Radius Window",
        "worlds.fortattack": "FortAttack",
        "worlds.lbf": "Foraging",
        "worlds.navigation": "Navigation",
        "worlds.wolfpack": "Wolfpack",
    }.items()
    for name in names.split()
}
"""Where each name is defined. It is imported when it is first used, so that the command line answers at once."""


if not TYPE_CHECKING:  # to a type checker it would promise every name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'openteam' has no attribute '{name}'")
        globals()[name] = value = getattr(import_module(_HOMES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
