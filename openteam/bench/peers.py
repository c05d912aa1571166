"""Other libraries' worlds, measured in the same run if they are installed."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import jax
import jax.numpy as jnp

from openteam.bench.timing import seconds_per_call


def jumanji_lbf_steps_per_second(envs: int, budget: float) -> float | None:
    """jumanji's Level-Based Foraging, 8x8, no teammates' policies, random actions, observation used; None if absent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            foraging = importlib.import_module("jumanji.environments.routing.lbf")
            generator = importlib.import_module("jumanji.environments.routing.lbf.generator")
            wrappers = importlib.import_module("jumanji.wrappers")
        except ImportError:
            return None
        made = generator.RandomGenerator(grid_size=8, fov=8, num_agents=3, num_food=3, force_coop=False)
        world: Any = wrappers.AutoResetWrapper(foraging.LevelBasedForaging(generator=made))
        steps = 100

        @jax.jit
        def play(state: Any, key: Any) -> Any:
            def step(carry: tuple, key: Any) -> tuple:
                state, seen = carry
                actions = jax.random.randint(key, (envs, 3), 0, 6)
                state, timestep = jax.vmap(world.step)(state, actions)
                return (state, seen + timestep.observation.agents_view.sum() + timestep.reward.sum()), None

            return jax.lax.scan(step, (state, jnp.zeros(())), jax.random.split(key, steps))[0]

        state, _ = jax.jit(jax.vmap(world.reset))(jax.random.split(jax.random.key(0), envs))
        return steps * envs / seconds_per_call(lambda: play(state, jax.random.key(1)), budget)
