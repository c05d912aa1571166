"""The interface that an environment must have: PettingZoo's parallel one, by its methods and not by its class.

``agents``, ``reset(seed=...) -> observations, infos``, ``step(actions) -> observations, rewards, terminations,
truncations, infos``, each a dictionary by id, and ``action_space(id)``.
"""

from __future__ import annotations

from typing import Any

from openteam.errors import UserError


def check_interface(env: Any, name: str) -> None:
    """Raise unless an environment has all methods that are called here."""
    if hasattr(env, "agent_iter"):
        raise UserError(
            f"{name} makes an environment in which agents take turns (PettingZoo's AECEnv). Make one in which all act "
            "at once: parallel_env(), or pettingzoo.utils.aec_to_parallel(env)."
        )
    missing = [part for part in ("agents", "reset", "step", "action_space") if not hasattr(env, part)]
    if [part for part in missing if part != "agents"]:  # which some have only after the first reset
        raise UserError(
            f"{name} made a {type(env).__name__}, which has no {', '.join(missing)}. An environment has agents, "
            "reset(seed), step(actions) and action_space(id), as PettingZoo's ParallelEnv has; "
            "docs/your-own-environment.md shows one."
        )


def check_reset(told: Any, name: str) -> tuple[Any, Any]:
    """Observations and infos."""
    if not (isinstance(told, tuple) and len(told) == 2 and isinstance(told[0], dict)):
        raise UserError(
            f"{name}: reset must return two dictionaries by id, observations and infos; got {type(told).__name__}."
        )
    return told


def check_step(told: Any, name: str) -> tuple[Any, Any, Any, Any, Any]:
    """Observations, rewards, terminations, truncations and infos."""
    if not (isinstance(told, tuple) and len(told) == 5 and all(isinstance(part, dict) for part in told)):
        raise UserError(
            f"{name}: step must return five dictionaries by id, observations, rewards, terminations, truncations and "
            f"infos; got {describe(told)}."
        )
    return told


def describe(told: Any) -> str:
    """What came instead."""
    return ", ".join(type(part).__name__ for part in told) if isinstance(told, tuple) else type(told).__name__
