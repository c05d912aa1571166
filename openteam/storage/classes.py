"""Names of classes in configurations, and the classes they stand for.

A name is ``module:qualname``. The module of our own classes is always ``openteam``, whichever file defines them, so
that a class can move without breaking stored runs; ``HOMES`` says where each is found today. Other people's classes are
found only in modules that have been imported already: a name in a file never imports anything.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterable
from typing import Any

import equinox as eqx

from openteam.errors import UserError

PACKAGE = "openteam"
HOMES: dict[str, str] = {
    name: module
    for module, names in {
        "openteam.task": ("Split", "Task"),
        "openteam.host.task": ("HostSplit", "HostTask"),
        "openteam.worlds.lbf": ("Foraging",),
        "openteam.worlds.wolfpack": ("CautiousPrey", "FleeingPrey", "RandomPrey", "Wolfpack"),
        "openteam.worlds.fortattack": ("Arena", "DenseRewards", "FortAttack", "Movement", "Shooting", "SparseRewards"),
        "openteam.worlds.navigation": ("Navigation",),
        "openteam.prey.evasion": ("Evasion",),
        "openteam.prey.authors": ("PublishedPrey",),
        "openteam.prey.learned": ("LearnedPrey",),
        "openteam.openness": ("Bernoulli", "Casualties", "Closed", "Lifetimes"),
        "openteam.views": ("FullView", "Radius", "Window"),
        "openteam.teammates": ("Foragers", "Hunters", "Navigators", "Pool", "Uniform"),
        "openteam.teammates.learned": ("Learned",),
        "openteam.teammates.trained": ("Trained",),
        "openteam.teammates.authors.actor_critic": ("PublishedForagers", "PublishedNavigators"),
        "openteam.teammates.authors.fort": ("PublishedFort",),
        "openteam.teammates.authors.hunters": ("PublishedDistilled", "PublishedGraphDQN"),
        "openteam.teammates.wrapped_angles": ("WrappedAngles",),
        "openteam.algorithms.belief_gpl": ("BeliefGPL",),
        "openteam.algorithms.beliefs": ("Autoencoder", "ParticleFilter", "VariationalAutoencoder"),
        "openteam.algorithms.cloning": ("Cloning",),
        "openteam.algorithms.control": ("QLearning", "Schedule", "SoftPolicyIteration"),
        "openteam.algorithms.dgn": ("DGN",),
        "openteam.algorithms.dvrl": ("DVRL",),
        "openteam.algorithms.flat_ql": ("FlatQL",),
        "openteam.algorithms.gpl": ("GPL",),
        "openteam.algorithms.maddpg": ("MADDPG",),
        "openteam.algorithms.ppo": ("PPO",),
        "openteam.algorithms.replay": ("ReplayBuffer",),
        "openteam.core.sides": ("Sides",),
        "openteam.models.actor_critic": ("FlatNetworks", "SetNetworks"),
        "openteam.models.agent": ("AgentModelSizes",),
        "openteam.models.attention_head": ("AttentionHead",),
        "openteam.models.belief.existence": ("AssumedExistence", "ExpectedExistence", "SampledExistence"),
        "openteam.models.belief.latent_models": ("ParticleModels",),
        "openteam.models.belief.particle_belief": ("ParticleSizes",),
        "openteam.models.belief.particle_weight": ("ParticleWeights",),
        "openteam.models.belief.recurrent": ("AutoencoderSizes",),
        "openteam.models.belief.resampling": ("Multinomial", "Systematic"),
        "openteam.models.coordination_graph": ("CoordinationGraph",),
        "openteam.models.fixed_slot_head": ("FixedSlotHead",),
        "openteam.models.joint_value": ("Factored", "PerEdge", "Signed", "Star"),
        "openteam.probes": (
            "Arrival", "Constant", "ConstantPolicies", "Delayed", "FirstStepOnly", "Lamp", "Match", "MaybePresent",
            "OwnAction", "Probe", "RememberTeammate", "TeammateAction", "TeammateJoins",
        ),
    }.items()
    for name in names
}  # fmt: skip
"""Our classes that a configuration may name, and a module that has each."""


def name_of_class(cls: type) -> str:
    """The name that a configuration gives a class. Raises unless the class can be found again by it."""
    ours, name = f"{PACKAGE}:{cls.__qualname__}", f"{cls.__module__}:{cls.__qualname__}"
    if cls.__module__.startswith(f"{PACKAGE}.") and cls.__qualname__ in HOMES and class_of_name(ours) is cls:
        return ours
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        where = "in the script that is being run" if cls.__module__ == "__main__" else "inside a function"
        raise UserError(
            f"The class {cls.__qualname__} is defined {where}, where a resumed run could not find it. Put it at the "
            "top level of a module, and import that."
        )
    if cls.__module__ == PACKAGE:
        raise UserError(
            f"A class claims the name {name}, which only openteam's own classes have. Do not set its __module__."
        )
    if find_imported(name) is not cls:
        raise UserError(f"{name} is another class than the one that is used here. Give one of them another name.")
    return name


def class_of_name(name: str) -> type[eqx.Module]:
    """The class of that name: one of ours, or one in a module that has been imported."""
    module, _, qualname = name.partition(":")
    if module == PACKAGE or not qualname:
        if qualname not in HOMES:
            raise UserError(
                f"This configuration names the class '{name}', which this version of openteam does not have."
            )
        return getattr(importlib.import_module(HOMES[qualname]), qualname)
    cls = find_imported(name)
    if not (isinstance(cls, type) and issubclass(cls, eqx.Module)):  # whatever else a module holds is not to be called
        raise UserError(f"This configuration names {name}, which is no equinox module.")
    return cls


def find_imported(name: str) -> Any:
    """What ``module:qualname`` stands for, in a module that has been imported already."""
    check_imported([name])
    module, _, qualname = name.partition(":")
    try:
        return functools.reduce(getattr, qualname.split("."), sys.modules[module])
    except AttributeError:
        raise UserError(f"The module {module} has no '{qualname}'. If it was renamed, change it back.") from None


def check_imported(names: Iterable[str]) -> None:
    """Raise unless the modules of all these names are ours or have been imported."""
    modules = {name: name.partition(":")[0] for name in names if ":" in name}
    missing = {name: module for name, module in modules.items() if module != PACKAGE and module not in sys.modules}
    if missing:
        wanted = list(dict.fromkeys(missing.values()))
        raise UserError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} used here, and openteam imports only modules "
            f"that you name: add {import_flags(wanted)} (in Python: import {', '.join(wanted)})."
        )


def import_flags(modules: Iterable[str]) -> str:
    """``--import a --import b``."""
    return " ".join(f"--import {module}" for module in modules)
